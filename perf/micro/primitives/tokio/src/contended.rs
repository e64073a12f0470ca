// The primitives of Tokio that many tasks use at the same time.
use crate::{keep, seconds_of, seconds_of_tasks, Shape, QUEUE_CAPACITY};
use std::sync::Arc;
use tokio::sync::{mpsc, Mutex, Semaphore};
use tokio::task::yield_now;

pub(crate) async fn mutex(shape: Shape) -> f64 {
    let mutex = Arc::new(Mutex::new(0_i64));
    seconds_of_tasks(shape.fibers, |_| {
        let mutex = mutex.clone();
        async move {
            for _ in 0..shape.each() {
                let mut count = mutex.lock().await;
                *count += 1;
                keep(*count);
                if shape.yields {
                    yield_now().await;
                }
            }
        }
    })
    .await
}

pub(crate) async fn semaphore(shape: Shape) -> f64 {
    let semaphore = Arc::new(Semaphore::new(shape.fibers / 2));
    seconds_of_tasks(shape.fibers, |_| {
        let semaphore = semaphore.clone();
        async move {
            for _ in 0..shape.each() {
                let _permit = semaphore.acquire().await.unwrap();
                if shape.yields {
                    yield_now().await;
                }
            }
        }
    })
    .await
}

// A channel of Tokio has one receiver. Several consumers share it through a mutex, Tokio's idiom for that.
pub(crate) async fn queue(shape: Shape) -> f64 {
    let (sender, mut receiver) = mpsc::channel(QUEUE_CAPACITY);
    let produce = |sender: mpsc::Sender<i64>| async move {
        for i in 0..shape.each() {
            sender.send(i as i64).await.unwrap();
        }
    };
    seconds_of(async {
        let mut tasks: Vec<_> = (0..shape.fibers).map(|_| tokio::spawn(produce(sender.clone()))).collect();
        if shape.fibers == 1 {
            tasks.push(tokio::spawn(async move {
                for _ in 0..shape.each() {
                    keep(receiver.recv().await.unwrap());
                }
            }));
        } else {
            let shared = Arc::new(Mutex::new(receiver));
            for _ in 0..shape.fibers {
                let shared = shared.clone();
                tasks.push(tokio::spawn(async move {
                    for _ in 0..shape.each() {
                        keep(shared.lock().await.recv().await.unwrap());
                    }
                }));
            }
        }
        for task in tasks {
            task.await.unwrap();
        }
    })
    .await
}
