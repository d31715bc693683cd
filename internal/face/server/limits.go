package server

import (
	"fmt"
	"math"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Limits of requests: a bucket for each device, and for each address one for requests without a principal.
const (
	deviceBurst, devicePerSecond   = 2000, 200
	strangerBurst, strangerPerTime = 60, 1
	mostBuckets                    = 10_000
	mostStreams                    = 1024 // of a device
)

// rates are the buckets of those who send requests.
type rates struct {
	mu      sync.Mutex
	buckets map[string]*bucket
	streams map[string]int
}

type bucket struct {
	left float64
	at   time.Time
}

// allow takes one request out of a bucket, and tells the limits in the header.
func (l *rates) allow(h http.Header, r *http.Request, who Principal, known bool) *Problem {
	key, burst, rate := who.key, float64(deviceBurst), float64(devicePerSecond)
	if !known {
		key, burst, rate = "address "+address(r), strangerBurst, strangerPerTime
	}
	left := l.take(key, burst, rate)
	h.Set("RateLimit-Limit", strconv.Itoa(int(burst)))
	h.Set("RateLimit-Remaining", strconv.Itoa(max(0, int(left))))
	h.Set("RateLimit-Reset", strconv.Itoa(int(math.Ceil((burst-max(left, 0))/rate))))
	if left >= 0 {
		return nil
	}
	h.Set("Retry-After", "1")
	return problem(http.StatusTooManyRequests, "rate", "Too many requests", fmt.Sprintf("%.0f a second are served", rate),
		"wait as Retry-After says, then send the same request again")
}

// take returns what is left; below 0: nothing was taken.
func (l *rates) take(key string, burst, rate float64) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if len(l.buckets) > mostBuckets || l.buckets == nil {
		l.buckets = map[string]*bucket{}
	}
	b := l.buckets[key]
	if b == nil {
		b = &bucket{burst, now}
		l.buckets[key] = b
	}
	b.left, b.at = min(burst, b.left+now.Sub(b.at).Seconds()*rate), now
	if b.left < 1 {
		return -1
	}
	b.left--
	return b.left
}

// stream counts a stream of a device; end is called when it is over.
func (l *rates) stream(key string) (end func(), _ *Problem) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.streams == nil {
		l.streams = map[string]int{}
	}
	if l.streams[key] >= mostStreams {
		return nil, problem(http.StatusTooManyRequests, "streams", "Too many streams are open",
			fmt.Sprintf("a device may have %d", mostStreams), "close one; one stream brings the events of many sessions")
	}
	l.streams[key]++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.streams[key]--; l.streams[key] == 0 {
			delete(l.streams, key)
		}
	}, nil
}

// limited is a listener whose connections have a limit, in all and for each address.
type limited struct {
	net.Listener
	mu  sync.Mutex
	all int
	by  map[string]int
}

func newLimited(l net.Listener) *limited { return &limited{Listener: l, by: map[string]int{}} }

// Accept returns the next connection. One beyond the limit is closed at once.
func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		ip, _, err := net.SplitHostPort(c.RemoteAddr().String())
		most := mostConnsIP
		if at := net.ParseIP(ip); err != nil || at.IsLoopback() {
			most = mostConns // all share the address
		}
		if !l.count(ip, 1, most) {
			_ = c.Close()
			continue
		}
		return &limitedConn{Conn: c, done: sync.OnceFunc(func() { l.count(ip, -1, most) })}, nil
	}
}

func (l *limited) count(ip string, n, most int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n > 0 && (l.all >= mostConns || l.by[ip] >= most) {
		return false
	}
	l.all += n
	if l.by[ip] += n; l.by[ip] <= 0 {
		delete(l.by, ip)
	}
	return true
}

type limitedConn struct {
	net.Conn
	done func()
}

// Close ends the connection.
func (c *limitedConn) Close() error {
	defer c.done()
	return c.Conn.Close()
}

// keyed are locks by name.
type keyed struct {
	mu   sync.Mutex
	held map[string]*keyedLock
}

type keyedLock struct {
	sync.Mutex
	users int
}

// lock locks a name until unlock is called.
func (k *keyed) lock(name string) (unlock func()) {
	k.mu.Lock()
	if k.held == nil {
		k.held = map[string]*keyedLock{}
	}
	l := k.held[name]
	if l == nil {
		l = &keyedLock{}
		k.held[name] = l
	}
	l.users++
	k.mu.Unlock()
	l.Lock()
	return func() {
		l.Unlock()
		k.mu.Lock()
		defer k.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(k.held, name)
		}
	}
}
