// The same primitives with Go: goroutines, channels and package sync. GOMAXPROCS is the number of carriers.
// Where Go has no such type, its usual idiom stands for it: a buffered channel for a semaphore, a Notify, a bounded queue
// and a oneshot. There is no park; an unbuffered channel is the least that passes control. Rows without an idiom in the
// standard library are left out (fair mutex, barrier, unbounded queue, broadcast, watch).
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"sort"
	"sync"
	"time"
)

const queueCapacity = 64

type shape struct {
	fibers     int
	yields     bool
	operations int
}

func (s shape) each() int {
	if s.operations < s.fibers {
		return 1
	}
	return s.operations / s.fibers
}

var sink int // keeps the compiler from removing what computes it

func secondsOf(function func()) float64 {
	began := time.Now()
	function()
	return time.Since(began).Seconds()
}

// Goroutine i calls body(i).
func secondsOfFibers(count int, body func(int)) float64 {
	return secondsOf(func() {
		var all sync.WaitGroup
		all.Add(count)
		for i := 0; i < count; i++ {
			go func(i int) {
				body(i)
				all.Done()
			}(i)
		}
		all.Wait()
	})
}

func spawnJoin(s shape) float64 {
	return secondsOf(func() {
		var done sync.WaitGroup
		for i := 0; i < s.operations; i++ {
			done.Add(1)
			go done.Done()
			done.Wait()
		}
	})
}

func yield(s shape) float64 {
	return secondsOfFibers(s.fibers, func(int) {
		for i := 0; i < s.each(); i++ {
			runtime.Gosched()
		}
	})
}

// Two goroutines pass control to each other through a channel for each side, of that capacity.
func passControl(s shape, capacity int) float64 {
	turned := [2]chan struct{}{make(chan struct{}, capacity), make(chan struct{}, capacity)}
	rounds := s.operations / 2
	return secondsOfFibers(2, func(self int) {
		for i := 0; i < rounds; i++ {
			if self == 1 || i > 0 {
				<-turned[self]
			}
			if self == 0 || i+1 < rounds {
				turned[1-self] <- struct{}{}
			}
		}
	})
}

func parkWake(s shape) float64 { return passControl(s, 0) }
func notify(s shape) float64   { return passControl(s, 1) }

func mutex(s shape) float64 {
	var mutex sync.Mutex
	return secondsOf(func() {
		for i := 0; i < s.operations; i++ {
			mutex.Lock()
			mutex.Unlock()
		}
	})
}

func rwRead(s shape) float64 {
	var lock sync.RWMutex
	return secondsOf(func() {
		for i := 0; i < s.operations; i++ {
			lock.RLock()
			lock.RUnlock()
		}
	})
}

func rwWrite(s shape) float64 {
	var lock sync.RWMutex
	return secondsOf(func() {
		for i := 0; i < s.operations; i++ {
			lock.Lock()
			lock.Unlock()
		}
	})
}

func semaphore(s shape) float64 {
	permits := make(chan struct{}, 1)
	return secondsOf(func() {
		for i := 0; i < s.operations; i++ {
			permits <- struct{}{}
			<-permits
		}
	})
}

func condition(s shape) float64 {
	var mutex sync.Mutex
	turned := [2]*sync.Cond{sync.NewCond(&mutex), sync.NewCond(&mutex)}
	turn := 0
	return secondsOfFibers(2, func(self int) {
		for i := 0; i < s.operations/2; i++ {
			mutex.Lock()
			for turn != self {
				turned[self].Wait()
			}
			turn = 1 - self
			turned[turn].Signal()
			mutex.Unlock()
		}
	})
}

func onceGet(s shape) float64 {
	var once sync.Once
	value := 0
	return secondsOf(func() {
		for i := 0; i < s.operations; i++ {
			once.Do(func() { value = 1 })
			sink += value
		}
	})
}

func waitGroup(s shape) float64 {
	var group sync.WaitGroup
	return secondsOf(func() {
		for i := 0; i < s.operations; i++ {
			group.Add(1)
			group.Done()
			group.Wait()
		}
	})
}

func boundedQueue(s shape) float64 {
	queue := make(chan int, queueCapacity)
	return secondsOf(func() {
		for i := 0; i < s.operations; i++ {
			queue <- 1
			sink += <-queue
		}
	})
}

func oneshot(s shape) float64 {
	return secondsOf(func() {
		for i := 0; i < s.operations; i++ {
			one := make(chan int, 1)
			one <- 1
			sink += <-one
		}
	})
}

func selectOfTwo(s shape) float64 {
	first, second := make(chan int, queueCapacity), make(chan int, queueCapacity)
	first <- 1
	second <- 2
	return secondsOf(func() {
		for i := 0; i < s.operations; i++ {
			select {
			case value := <-first:
				first <- value
			case value := <-second:
				second <- value
			}
		}
	})
}

func contendedMutex(s shape) float64 {
	var mutex sync.Mutex
	return secondsOfFibers(s.fibers, func(int) {
		for i := 0; i < s.each(); i++ {
			mutex.Lock()
			sink++
			if s.yields {
				runtime.Gosched()
			}
			mutex.Unlock()
		}
	})
}

func contendedSemaphore(s shape) float64 {
	permits := make(chan struct{}, s.fibers/2)
	return secondsOfFibers(s.fibers, func(int) {
		for i := 0; i < s.each(); i++ {
			permits <- struct{}{}
			if s.yields {
				runtime.Gosched()
			}
			<-permits
		}
	})
}

func contendedQueue(s shape) float64 {
	queue := make(chan int, queueCapacity)
	return secondsOfFibers(2*s.fibers, func(self int) {
		for i := 0; i < s.each(); i++ {
			if self%2 == 0 {
				queue <- i
			} else {
				<-queue
			}
		}
	})
}

var primitives = map[string]func(shape) float64{
	"spawn_join": spawnJoin, "yield": yield, "park_wake": parkWake, "mutex": mutex, "rw_read": rwRead,
	"rw_write": rwWrite, "semaphore": semaphore, "condition": condition, "notify": notify, "once_get": onceGet,
	"wait_group": waitGroup, "bounded_queue": boundedQueue, "oneshot": oneshot, "select": selectOfTwo,
	"contended_mutex": contendedMutex, "contended_semaphore": contendedSemaphore, "contended_queue": contendedQueue,
}

// As measured() of primitives.hpp.
func measured(run func(shape) float64, s shape, seconds float64) (int, float64) {
	s.operations = 64 * s.fibers
	for {
		took := run(s)
		performed := s.each() * s.fibers
		if took >= seconds/2 {
			return performed, took
		}
		factor := 100.0
		if took > 0 && seconds/took < factor {
			factor = seconds / took
		}
		if factor < 1.5 {
			factor = 1.5
		}
		s.operations = int(float64(performed)*factor) + 1
	}
}

func main() {
	list := flag.Bool("list", false, "")
	name := flag.String("row", "", "")
	carriers := flag.Int("carriers", 1, "")
	fibers := flag.Int("fibers", 1, "")
	yields := flag.Bool("yield", false, "")
	milliseconds := flag.Int("milliseconds", 40, "")
	flag.Parse()
	if *list {
		names := make([]string, 0, len(primitives))
		for each := range primitives {
			names = append(names, each)
		}
		sort.Strings(names)
		for _, each := range names {
			fmt.Println(each)
		}
		return
	}
	run, known := primitives[*name]
	if !known {
		fmt.Fprintf(os.Stderr, "%s: no row %q (see --list)\n", os.Args[0], *name)
		os.Exit(2)
	}
	runtime.GOMAXPROCS(*carriers)
	operations, seconds := measured(run, shape{*fibers, *yields, 0}, float64(*milliseconds)/1000)
	fmt.Printf("{\"row\": %q, \"operations\": %d, \"seconds\": %.9f}\n", *name, operations, seconds)
}
