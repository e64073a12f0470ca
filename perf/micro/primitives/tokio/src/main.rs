// The same primitives with Tokio. One carrier: the current_thread flavour; two: multi_thread with two workers. Neither has
// I/O or timers, so a turn of the scheduler polls no driver.
// Rows of a single task run as unconstrained(): a task otherwise returns to the scheduler after 128 operations. Tokio has
// no condition and no wait group; those rows are left out. A fair mutex is its mutex, which serves waiters in order.
mod contended;

use std::task::{Context, Poll, Waker};
use std::{cell::RefCell, future::Future, pin::Pin, sync::Arc, time::Instant};
use tokio::sync::{broadcast, mpsc, oneshot, watch, Barrier, Mutex, Notify, OnceCell, RwLock, Semaphore};
use tokio::task::{unconstrained, yield_now};

const QUEUE_CAPACITY: usize = 64;
const PRIMITIVES: [&str; 21] = [
    "spawn_join", "yield", "park_wake", "mutex", "fair_mutex", "rw_read", "rw_write", "semaphore", "notify", "barrier",
    "once_get", "bounded_queue", "unbounded_queue", "oneshot", "broadcast", "watch", "select", "contended_mutex",
    "contended_fair_mutex", "contended_semaphore", "contended_queue",
];

#[derive(Clone, Copy)]
struct Shape {
    fibers: usize,
    yields: bool,
    operations: usize,
}

impl Shape {
    fn each(&self) -> usize {
        (self.operations / self.fibers).max(1)
    }
}

// Keeps the compiler from removing the computation of `value`.
fn keep(value: i64) {
    unsafe { std::ptr::read_volatile(&value) };
}

async fn seconds_of(future: impl Future<Output = ()>) -> f64 {
    let began = Instant::now();
    future.await;
    began.elapsed().as_secs_f64()
}

// Spawns `count` tasks and joins them. Task i runs body(i).
async fn seconds_of_tasks<F, B>(count: usize, body: F) -> f64
where
    F: Fn(usize) -> B,
    B: Future<Output = ()> + Send + 'static,
{
    seconds_of(async {
        let tasks: Vec<_> = (0..count).map(|i| tokio::spawn(body(i))).collect();
        for task in tasks {
            task.await.unwrap();
        }
    })
    .await
}

thread_local!(static WAKERS: RefCell<[Option<Waker>; 2]> = RefCell::new([None, None]));

// The first poll wakes the other task and parks this one; the second poll, after the other task's wake, completes.
struct HandOver {
    own: usize,
    first: bool,
    last: bool,
    parked: bool,
}

impl Future for HandOver {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.parked {
            return Poll::Ready(());
        }
        self.parked = true;
        WAKERS.with(|wakers| {
            if self.first {
                wakers.borrow_mut()[self.own] = Some(context.waker().clone());
            }
            if self.own == 1 || !self.first {
                wakers.borrow()[1 - self.own].as_ref().unwrap().wake_by_ref();
            }
        });
        if self.own == 1 && self.last { Poll::Ready(()) } else { Poll::Pending }
    }
}

// Two tasks of one thread pass control to each other by their wakers. An operation is one hand-over.
async fn park_wake(shape: Shape) -> f64 {
    let rounds = shape.operations / 2;
    seconds_of_tasks(2, |own| async move {
        for i in 0..rounds {
            HandOver { own, first: i == 0, last: i + 1 == rounds, parked: false }.await;
        }
    })
    .await
}

async fn notify(shape: Shape) -> f64 {
    let turned = Arc::new([Notify::new(), Notify::new()]);
    turned[0].notify_one();
    seconds_of_tasks(2, |own| {
        let turned = turned.clone();
        async move {
            for _ in 0..shape.operations / 2 {
                turned[own].notified().await;
                turned[1 - own].notify_one();
            }
        }
    })
    .await
}

async fn barrier(shape: Shape) -> f64 {
    let barrier = Arc::new(Barrier::new(shape.fibers));
    seconds_of_tasks(shape.fibers, |_| {
        let barrier = barrier.clone();
        async move {
            for _ in 0..shape.each() {
                barrier.wait().await;
            }
        }
    })
    .await
}

// The time of `$operation`, repeated in one task.
macro_rules! repeat {
    ($shape:expr, $operation:expr) => {
        seconds_of(unconstrained(async {
            for _ in 0..$shape.operations {
                $operation
            }
        }))
        .await
    };
}

async fn run(name: &str, shape: Shape) -> f64 {
    match name {
        "spawn_join" => repeat!(shape, tokio::spawn(async {}).await.unwrap()),
        "yield" => {
            seconds_of_tasks(shape.fibers, |_| async move {
                for _ in 0..shape.each() {
                    yield_now().await;
                }
            })
            .await
        }
        "park_wake" => park_wake(shape).await,
        "mutex" | "fair_mutex" => {
            let mutex = Mutex::new(0_i64);
            repeat!(shape, drop(mutex.lock().await))
        }
        "rw_read" => {
            let lock = RwLock::new(0_i64);
            repeat!(shape, drop(lock.read().await))
        }
        "rw_write" => {
            let lock = RwLock::new(0_i64);
            repeat!(shape, drop(lock.write().await))
        }
        "semaphore" => {
            let semaphore = Semaphore::new(1);
            repeat!(shape, drop(semaphore.acquire().await.unwrap()))
        }
        "notify" => notify(shape).await,
        "barrier" => barrier(shape).await,
        "once_get" => {
            let cell = OnceCell::new_with(Some(1_i64));
            repeat!(shape, keep(*cell.get().unwrap()))
        }
        "bounded_queue" => {
            let (sender, mut receiver) = mpsc::channel(QUEUE_CAPACITY);
            repeat!(shape, {
                sender.send(1).await.unwrap();
                keep(receiver.recv().await.unwrap())
            })
        }
        "unbounded_queue" => {
            let (sender, mut receiver) = mpsc::unbounded_channel();
            repeat!(shape, {
                sender.send(1).unwrap();
                keep(receiver.recv().await.unwrap())
            })
        }
        "oneshot" => repeat!(shape, {
            let (sender, receiver) = oneshot::channel();
            sender.send(1).unwrap();
            keep(receiver.await.unwrap())
        }),
        "broadcast" => {
            let (sender, mut receiver) = broadcast::channel(QUEUE_CAPACITY);
            repeat!(shape, {
                sender.send(1).unwrap();
                keep(receiver.recv().await.unwrap())
            })
        }
        "watch" => {
            let (sender, mut receiver) = watch::channel(0);
            repeat!(shape, {
                sender.send(1).unwrap();
                receiver.changed().await.unwrap();
                keep(*receiver.borrow_and_update())
            })
        }
        "select" => {
            let (first_sender, mut first) = mpsc::channel(QUEUE_CAPACITY);
            let (second_sender, mut second) = mpsc::channel(QUEUE_CAPACITY);
            first_sender.try_send(1).unwrap();
            second_sender.try_send(2).unwrap();
            repeat!(shape, {
                tokio::select! {
                    value = first.recv() => first_sender.try_send(value.unwrap()).unwrap(),
                    value = second.recv() => second_sender.try_send(value.unwrap()).unwrap(),
                }
            })
        }
        "contended_mutex" | "contended_fair_mutex" => contended::mutex(shape).await,
        "contended_semaphore" => contended::semaphore(shape).await,
        "contended_queue" => contended::queue(shape).await,
        _ => unreachable!("checked by main()"),
    }
}

// As measured() of primitives.hpp.
async fn measured(name: String, mut shape: Shape, seconds: f64) -> (usize, f64) {
    shape.operations = 64 * shape.fibers;
    loop {
        let took = run(&name, shape).await;
        let performed = shape.each() * shape.fibers;
        if took >= seconds / 2.0 {
            return (performed, took);
        }
        let factor = if took > 0.0 { seconds / took } else { 100.0 };
        shape.operations = (performed as f64 * factor.clamp(1.5, 100.0)) as usize + 1;
    }
}

fn fail(why: String) -> ! {
    eprintln!("primitives_tokio: {why}");
    std::process::exit(2)
}

fn main() {
    let (mut name, mut carriers, mut milliseconds) = (String::new(), 1, 40);
    let mut shape = Shape { fibers: 1, yields: false, operations: 0 };
    let mut arguments = std::env::args().skip(1);
    while let Some(flag) = arguments.next() {
        let mut value = || arguments.next().unwrap_or_else(|| fail(format!("{flag} needs a value")));
        let number = |text: String| text.parse().unwrap_or_else(|_| fail(format!("{text}: expected a number")));
        match flag.as_str() {
            "--list" => return PRIMITIVES.iter().for_each(|each| println!("{each}")),
            "--yield" => shape.yields = true,
            "--row" => name = value(),
            "--carriers" => carriers = number(value()),
            "--fibers" => shape.fibers = number(value()),
            "--milliseconds" => milliseconds = number(value()),
            _ => fail(format!("unexpected argument '{flag}'")),
        }
    }
    if !PRIMITIVES.contains(&name.as_str()) {
        fail(format!("no row '{name}' (see --list)"));
    }
    let runtime = match carriers {
        1 => tokio::runtime::Builder::new_current_thread().build(),
        _ => tokio::runtime::Builder::new_multi_thread().worker_threads(carriers).build(),
    };
    let runtime = runtime.unwrap();
    // In a task, so that a worker runs it and not the main thread.
    let task = runtime.spawn(measured(name.clone(), shape, milliseconds as f64 / 1000.0));
    let (operations, seconds) = runtime.block_on(task).unwrap();
    println!("{{\"row\": \"{name}\", \"operations\": {operations}, \"seconds\": {seconds:.9}}}");
}
