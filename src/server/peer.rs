//! From which address a call comes.

use http::{HeaderMap, Request};
use ipnet::IpNet;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tonic::transport::server::TcpConnectInfo;

/// Proxies whose word about their callers' addresses is believed.
#[derive(Debug, Clone, Default)]
pub struct Proxies(Arc<[IpNet]>);

impl Proxies {
    /// Those of these networks.
    pub fn new(networks: impl IntoIterator<Item = IpNet>) -> Proxies {
        Proxies(networks.into_iter().collect())
    }

    /// The address of a call's caller: the peer's, or if that is such a proxy, the one that it names last in `x-forwarded-for`.
    /// What stands before that the caller may have made up.
    pub fn caller_of<T>(&self, request: &Request<T>) -> Option<IpAddr> {
        let peer = request.extensions().get::<TcpConnectInfo>()?.remote_addr()?.ip().to_canonical();
        let named = self.0.iter().any(|network| network.contains(&peer)).then(|| last_hop(request.headers())).flatten();
        Some(named.unwrap_or(peer))
    }
}

fn last_hop(headers: &HeaderMap) -> Option<IpAddr> {
    let value = headers.get_all("x-forwarded-for").iter().next_back()?.to_str().ok()?;
    let hop = value.rsplit(',').next()?.trim();
    hop.parse().ok().or_else(|| hop.parse().ok().map(|address: SocketAddr| address.ip()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(peer: &str, forwarded: &[&str]) -> String {
        let mut request = Request::new(());
        let address = SocketAddr::new(peer.parse().expect("an address"), 1);
        request.extensions_mut().insert(TcpConnectInfo { local_addr: None, remote_addr: Some(address) });
        for value in forwarded {
            request.headers_mut().append("x-forwarded-for", value.parse().expect("a value"));
        }
        let proxies = Proxies::new(["10.0.0.0/8", "fd00::/8"].map(|network| network.parse().expect("a network")));
        proxies.caller_of(&request).expect("an address").to_string()
    }

    #[test]
    fn a_proxy_is_believed_about_its_own_peer_alone() {
        assert_eq!(caller("10.1.2.3", &["192.0.2.1"]), "192.0.2.1");
        assert_eq!(caller("::ffff:10.1.2.3", &["192.0.2.1:4711"]), "192.0.2.1");
        assert_eq!(caller("fd00::1", &["[2001:db8::1]:4711"]), "2001:db8::1");
        assert_eq!(caller("10.1.2.3", &["198.51.100.9, 192.0.2.1"]), "192.0.2.1");
        assert_eq!(caller("10.1.2.3", &["198.51.100.9", "203.0.113.5, 2001:db8::1"]), "2001:db8::1");
        assert_eq!(caller("11.1.2.3", &["192.0.2.1"]), "11.1.2.3", "no proxy of ours");
        for unreadable in ["unknown", "", "192.0.2.1, "] {
            assert_eq!(caller("10.1.2.3", &[unreadable]), "10.1.2.3", "{unreadable:?}");
        }
        assert_eq!(caller("10.1.2.3", &[]), "10.1.2.3");
    }

    #[test]
    fn a_call_without_a_connection_has_no_address() {
        assert_eq!(Proxies::default().caller_of(&Request::new(())), None);
    }
}
