//! The hosts of a URL. Each of them, and each address that a name has, gets a share of the time for a connection, so that one that says
//! nothing does not keep the others from being tried.

use super::OpenError;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::lookup_host;
use tokio::time::{Instant, timeout};
use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// What was reached: a host by its number in the URL, and which of its addresses, if it is a name.
pub(super) type Place = (usize, Option<IpAddr>);

/// All hosts, with the one that is tried first. Clones share it.
#[derive(Clone)]
pub(super) struct Hosts {
    /// The settings of a connection, of one host each.
    each: Vec<Config>,
    preferred: Arc<Mutex<Option<Place>>>,
}

impl Hosts {
    /// Takes settings apart that may name several hosts.
    pub fn of(all: &Config) -> Result<Hosts, OpenError> {
        let (hosts, addresses, ports) = (all.get_hosts(), all.get_hostaddrs(), all.get_ports());
        let count = hosts.len().max(addresses.len());
        let fits = |many: usize| many == 0 || many == count;
        if count == 0 {
            return Err(OpenError::Url("it names no host".into()));
        }
        if !fits(hosts.len()) || !fits(addresses.len()) || !(fits(ports.len()) || ports.len() == 1) {
            return Err(OpenError::Url("it has not as many ports or addresses as hosts".into()));
        }
        let each = (0..count).map(|number| {
            let mut one = without_hosts(all);
            match hosts.get(number) {
                Some(Host::Tcp(name)) => {
                    one.host(name);
                }
                #[cfg(unix)]
                Some(Host::Unix(folder)) => {
                    one.host_path(folder);
                }
                None => {}
            }
            if let Some(address) = addresses.get(number) {
                one.hostaddr(*address);
            }
            if let Some(port) = ports.get(number).or(ports.first()) {
                one.port(*port);
            }
            one
        });
        Ok(Hosts { each: each.collect(), preferred: Arc::default() })
    }

    /// The settings of one of them.
    pub fn first(&self) -> &Config {
        &self.each[0]
    }

    /// Changes the settings of all.
    pub fn change(&mut self, change: impl Fn(&mut Config)) {
        self.each.iter_mut().for_each(change);
    }

    /// This one is tried first from now on.
    pub fn prefer(&self, place: Place) {
        *self.preferred.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
    }

    /// Tries them in turn until one can be connected to, each for its share of `patience`. The last is waited for until the caller does
    /// not wait any more; what it says is what is said of all.
    pub async fn connect<T, E, F>(&self, patience: Duration, connect: impl Fn(Config) -> F) -> Result<(T, Place), E>
    where
        F: Future<Output = Result<T, E>>,
    {
        let deadline = Instant::now() + patience;
        let mut candidates = self.candidates(patience).await;
        let (last, last_place) = candidates.pop().expect("a URL without hosts is refused");
        for (left, (config, place)) in (2..=candidates.len() as u32 + 1).rev().zip(candidates) {
            let share = deadline.saturating_duration_since(Instant::now()) / left;
            if let Ok(Ok(connected)) = timeout(share, connect(config)).await {
                return Ok((connected, place));
            }
        }
        connect(last).await.map(|connected| (connected, last_place))
    }

    /// What there is to try, the preferred one first.
    async fn candidates(&self, patience: Duration) -> Vec<(Config, Place)> {
        let mut candidates = Vec::with_capacity(self.each.len());
        // A name that is not found in time is left to the client, which says what is wrong with it.
        let for_names = patience / (2 * self.each.len() as u32);
        for (number, config) in self.each.iter().enumerate() {
            let addresses = timeout(for_names, addresses(config)).await.unwrap_or_default();
            if addresses.len() < 2 {
                candidates.push((config.clone(), (number, None)));
            } else {
                candidates.extend(addresses.into_iter().map(|address| {
                    let mut one = config.clone();
                    one.hostaddr(address);
                    (one, (number, Some(address)))
                }));
            }
        }
        let preferred = *self.preferred.lock().unwrap_or_else(PoisonError::into_inner);
        candidates.sort_by_key(|(_, place)| Some(*place) != preferred);
        candidates
    }
}

/// The addresses of a name; none where there is nothing to look up.
async fn addresses(config: &Config) -> Vec<IpAddr> {
    match (config.get_hosts(), config.get_hostaddrs()) {
        ([Host::Tcp(name)], []) if name.parse::<IpAddr>().is_err() => {
            // The port makes no difference here.
            lookup_host((name.as_str(), 0)).await.map(|found| found.map(|address| address.ip()).collect()).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

/// The same settings, of no host. The client can only add hosts.
fn without_hosts(all: &Config) -> Config {
    let mut one = Config::new();
    if let Some(user) = all.get_user() {
        one.user(user);
    }
    if let Some(password) = all.get_password() {
        one.password(password);
    }
    if let Some(database) = all.get_dbname() {
        one.dbname(database);
    }
    if let Some(options) = all.get_options() {
        one.options(options);
    }
    if let Some(name) = all.get_application_name() {
        one.application_name(name);
    }
    if let Some(time) = all.get_connect_timeout() {
        one.connect_timeout(*time);
    }
    if let Some(time) = all.get_tcp_user_timeout() {
        one.tcp_user_timeout(*time);
    }
    if let Some(interval) = all.get_keepalives_interval() {
        one.keepalives_interval(interval);
    }
    if let Some(retries) = all.get_keepalives_retries() {
        one.keepalives_retries(retries);
    }
    one.keepalives(all.get_keepalives());
    one.keepalives_idle(all.get_keepalives_idle());
    one.ssl_mode(all.get_ssl_mode());
    one.ssl_negotiation(all.get_ssl_negotiation());
    one.target_session_attrs(all.get_target_session_attrs());
    one.channel_binding(all.get_channel_binding());
    one
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::str::FromStr;

    fn hosts(url: &str) -> Hosts {
        Hosts::of(&Config::from_str(url).expect("a URL")).expect("hosts")
    }

    #[test]
    fn each_host_keeps_its_port_and_all_else() {
        let rest = "dbname=games user=me password=secret target_session_attrs=read-write application_name=x connect_timeout=3 \
                    keepalives_idle=7 keepalives_interval=2 keepalives_retries=5 tcp_user_timeout=9 options=-ca=1 \
                    sslmode=require sslnegotiation=direct channel_binding=require keepalives=0";
        let one = |host: &str| Config::from_str(&format!("{host} {rest}")).expect("settings");
        let all = hosts(&format!("host=a,/run port=1,2 {rest}"));
        assert_eq!(all.each, [one("host=a port=1"), one("host=/run port=2")]);
        assert_eq!(hosts(&format!("host=a,b port=7 {rest}")).each, [one("host=a port=7"), one("host=b port=7")]);
        let addressed = hosts(&format!("host=a,b hostaddr=127.0.0.1,127.0.0.2 {rest}"));
        assert_eq!(addressed.each, [one("host=a hostaddr=127.0.0.1"), one("host=b hostaddr=127.0.0.2")]);
        for wrong in ["dbname=games", "host=a,b,c port=1,2", "host=a,b hostaddr=127.0.0.1"] {
            assert!(Hosts::of(&Config::from_str(wrong).expect("settings")).is_err(), "{wrong}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_says_nothing_leaves_the_others_their_share() {
        let hosts = hosts("host=127.0.0.1,127.0.0.2,127.0.0.3 dbname=games");
        let name = |config: &Config| match &config.get_hosts()[0] {
            Host::Tcp(name) => name.clone(),
            Host::Unix(_) => panic!("a folder"),
        };
        let connect = async |answering: &'static str| {
            let begun = Instant::now();
            let one = async |config: Config| {
                if name(&config) != answering {
                    std::future::pending::<()>().await;
                }
                Ok::<_, ()>(name(&config))
            };
            let reached = timeout(Duration::from_secs(3), hosts.connect(Duration::from_secs(3), one)).await;
            reached.ok().map(|reached| (reached.expect("it answers"), begun.elapsed().as_secs()))
        };
        assert_eq!(connect("127.0.0.1").await, Some((("127.0.0.1".to_owned(), (0, None)), 0)));
        assert_eq!(connect("127.0.0.2").await, Some((("127.0.0.2".to_owned(), (1, None)), 1)));
        assert_eq!(connect("127.0.0.3").await, Some((("127.0.0.3".to_owned(), (2, None)), 2)));
        assert_eq!(connect("none").await, None);
        hosts.prefer((2, None));
        assert_eq!(connect("127.0.0.3").await, Some((("127.0.0.3".to_owned(), (2, None)), 0)), "the preferred one is first");
        assert_eq!(connect("127.0.0.1").await, Some((("127.0.0.1".to_owned(), (0, None)), 1)));
    }
}
