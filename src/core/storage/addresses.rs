//! Addresses that nobody may be talked into reaching: link-local ones, where clouds serve the credentials of
//! their machines. No spec section: a rule of this program (RFC 3927, RFC 4291 section 2.5.6).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// An address that is not reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RefusedAddress {
    host: String,
}

impl fmt::Display for RefusedAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "\"{}\" is a link-local address or one of a cloud's metadata service",
            self.host
        )
    }
}

impl std::error::Error for RefusedAddress {}

/// Services of clouds to their own machines that are not at link-local addresses: of Amazon by IPv6, of
/// Alibaba, of Oracle, of Azure's host.
const METADATA_ADDRESSES: [IpAddr; 4] = [
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
];

/// Names that a proxy could resolve where this machine cannot.
const METADATA_NAMES: [&str; 2] = ["metadata", "metadata.google.internal"];

/// Refuses a URL whose host is spelled as a forbidden address or name.
pub(super) fn check_url(url: &Url) -> Result<(), RefusedAddress> {
    let is_refused = match url.host() {
        Some(Host::Ipv4(address)) => is_forbidden(IpAddr::V4(address)),
        Some(Host::Ipv6(address)) => is_forbidden(IpAddr::V6(address)),
        Some(Host::Domain(name)) => {
            METADATA_NAMES.contains(&name.trim_end_matches('.').to_ascii_lowercase().as_str())
        }
        None => false,
    };
    match is_refused {
        true => Err(RefusedAddress {
            host: url.host_str().unwrap_or_default().to_owned(),
        }),
        false => Ok(()),
    }
}

fn is_forbidden(address: IpAddr) -> bool {
    let address = match address {
        // One address of version 4 has several spellings of version 6.
        IpAddr::V6(v6) => match (v6.to_ipv4(), v6.segments()) {
            (Some(v4), _) if !v6.is_loopback() => IpAddr::V4(v4),
            (_, [0x64, 0xff9b, 0, 0, 0, 0, high, low]) => {
                IpAddr::V4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)))
            }
            _ => address,
        },
        IpAddr::V4(_) => address,
    };
    let is_link_local = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    is_link_local || METADATA_ADDRESSES.contains(&address)
}

/// Finds the addresses of a name, none of which may be forbidden.
#[derive(Debug)]
pub(super) struct CheckedResolver;

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let host = name.as_str().to_owned();
            let found: Vec<SocketAddr> =
                tokio::net::lookup_host((host.as_str(), 0)).await?.collect();
            if found.iter().any(|address| is_forbidden(address.ip())) {
                return Err(Box::new(RefusedAddress { host }) as _);
            }
            let addresses: Addrs = Box::new(found.into_iter());
            Ok(addresses)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_link_local_address_is_refused() {
        for host in [
            "169.254.169.254",
            "169.254.0.1",
            "169.254.170.2:8080",
            "2852039166",
            "0xa9fea9fe",
            "0251.0376.0251.0376",
            "169.16689662",
            "[fe80::1]",
            "[febf::1]",
            "[::ffff:169.254.169.254]",
            "[::169.254.169.254]",
            "[64:ff9b::a9fe:a9fe]",
            "[fd00:ec2::254]",
            "100.100.100.200",
            "metadata.google.internal",
            "METADATA.google.internal.",
            "metadata",
        ] {
            let url = Url::parse(&format!("http://{host}/latest")).expect("a URL");
            assert!(check_url(&url).is_err(), "{host}");
        }
        for host in [
            "127.0.0.1",
            "localhost",
            "[::1]",
            "10.0.0.1",
            "192.168.1.1",
            "169.253.255.255",
            "169.255.0.0",
            "[fec0::1]",
            "metadata.example.org",
            "s3.eu-north-1.amazonaws.com",
        ] {
            let url = Url::parse(&format!("http://{host}/latest")).expect("a URL");
            assert_eq!(check_url(&url), Ok(()), "{host}");
        }
    }
}
