// Question: what does a request cost in Go, a goroutine for each connection, when its handler calls a backend?
// net/http on both sides; the client keeps every connection to the backend and reuses the one used last. The rig sets
// GOMAXPROCS=1.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

const maxIdle = 16384 // connections to the backend, as in weft.cpp

type handler struct {
	client *http.Client
	url    string
}

// The body of the backend's answer.
func (self *handler) call() ([]byte, error) {
	answer, err := self.client.Get(self.url)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return io.ReadAll(answer.Body)
}

func (self *handler) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodGet || request.URL.Path != "/backend" {
		answer(writer, http.StatusNotFound, nil)
		return
	}
	body, err := self.call()
	if err != nil {
		answer(writer, http.StatusBadGateway, nil)
		return
	}
	answer(writer, http.StatusOK, body)
}

func answer(writer http.ResponseWriter, status int, body []byte) {
	header := writer.Header()
	header.Set("Server", "gonet")
	header.Set("Content-Type", "text/plain")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	writer.WriteHeader(status)
	writer.Write(body)
}

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "ADDR:PORT")
	backend := flag.String("backend", "", "ADDR:PORT")
	flag.Parse()
	if _, _, err := net.SplitHostPort(*backend); err != nil {
		fmt.Fprintf(os.Stderr, "--backend '%s': expected ADDR:PORT\n", *backend)
		os.Exit(2)
	}
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGTERM, syscall.SIGINT)
	listener, err := net.Listen("tcp4", *listen)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on", listener.Addr())
	transport := &http.Transport{MaxIdleConnsPerHost: maxIdle, DisableCompression: true} // no Accept-Encoding
	server := &handler{&http.Client{Transport: transport}, "http://" + *backend + "/"}
	go func() { log.Fatal(http.Serve(listener, server)) }()
	<-quit
}
