//! A server in front of a store that delays, resets, cuts off and refuses requests, or one that never answers.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What happens to a request.
#[derive(Clone, Copy, Debug)]
pub enum Behaviour {
    /// Nothing comes back, and the connection stays open.
    Silent,
    /// The answer is this text.
    Says(&'static str),
    /// It is passed on to the server at this port.
    Reliable(u16),
    /// It is passed on to the server at this port. About one in six is disturbed.
    Disturbed(u16),
}

/// A server that cannot be relied on; it ends with the program.
pub struct Unreliable {
    port: u16,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    requests: AtomicU64,
    disturbed: AtomicU64,
    state: AtomicU64,
}

impl Counts {
    /// The next of a fixed sequence of numbers that look random (SplitMix64).
    fn next(&self) -> u64 {
        let step = 0x9E37_79B9_7F4A_7C15;
        let mut number = self
            .state
            .fetch_add(step, Ordering::Relaxed)
            .wrapping_add(step);
        number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        number ^ (number >> 31)
    }
}

impl Unreliable {
    /// Starts one.
    pub fn start(behaviour: Behaviour) -> Unreliable {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let counts: Arc<Counts> = Arc::default();
        let counted = Arc::clone(&counts);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let counts = Arc::clone(&counted);
                std::thread::spawn(move || {
                    // A client that goes away is none of this server's business.
                    let _ = serve(stream, behaviour, &counts);
                });
            }
        });
        Unreliable { port, counts }
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Requests that came, and those that were disturbed.
    pub fn counts(&self) -> (u64, u64) {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (count(&self.counts.requests), count(&self.counts.disturbed))
    }
}

fn serve(mut client: TcpStream, behaviour: Behaviour, counts: &Counts) -> std::io::Result<()> {
    let request = read_head(&mut client)?;
    counts.requests.fetch_add(1, Ordering::Relaxed);
    match behaviour {
        Behaviour::Silent => {
            std::thread::sleep(Duration::from_secs(3600));
            Ok(())
        }
        Behaviour::Reliable(port) => client.write_all(&forward(port, &request)?),
        Behaviour::Says(text) => client.write_all(text.as_bytes()),
        Behaviour::Disturbed(port) => {
            let number = counts.next();
            let fault = number % 42;
            if fault < 7 {
                counts.disturbed.fetch_add(1, Ordering::Relaxed);
            }
            match fault {
                // Closing with an unread answer on the way resets the connection.
                0 => Ok(()),
                1 => client.write_all(refusal("503 Service Unavailable", "SlowDown").as_bytes()),
                2 => client
                    .write_all(refusal("500 Internal Server Error", "InternalError").as_bytes()),
                3 => {
                    client.write_all(refusal("429 Too Many Requests", "TooManyRequests").as_bytes())
                }
                4 if number % 64 == 4 => {
                    client.write_all(refusal("403 Forbidden", "AccessDenied").as_bytes())
                }
                4 | 5 => {
                    let answer = forward(port, &request)?;
                    let kept = (number >> 8) as usize % answer.len().max(1);
                    client.write_all(&answer[..kept])
                }
                6 => {
                    std::thread::sleep(Duration::from_millis(number % 200));
                    client.write_all(&forward(port, &request)?)
                }
                _ => client.write_all(&forward(port, &request)?),
            }
        }
    }
}

fn refusal(status: &str, code: &str) -> String {
    let body = format!("<Error><Code>{code}</Code></Error>");
    format!(
        "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A request without a body.
fn read_head(client: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut buffer = [0; 4096];
    while !head.windows(4).any(|window| window == b"\r\n\r\n") {
        match client.read(&mut buffer)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            length => head.extend_from_slice(&buffer[..length]),
        }
    }
    Ok(head)
}

/// The whole answer to a request, after which the connection is closed.
fn forward(port: u16, request: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut server = TcpStream::connect(("127.0.0.1", port))?;
    let end = request.len().saturating_sub(2);
    server.write_all(&request[..end])?;
    server.write_all(b"Connection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    server.read_to_end(&mut answer)?;
    Ok(answer)
}
