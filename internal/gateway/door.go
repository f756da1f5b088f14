package gateway

import (
	"net"
	"sync"
)

// door bounds the connections of one listener. Beyond the bound the oldest one
// that serves no session makes room, first of those that never named one; while
// all serve one, the new connection is closed. Neither is a row: full counts
// it. Safe for concurrent use.
type door struct {
	limit int
	full  func()

	mu   sync.Mutex
	seq  int64
	open map[*conn]int64 // in the order they came
}

func newDoor(limit int, full func()) *door {
	return &door{limit: limit, full: full, open: map[*conn]int64{}}
}

// enter takes a connection in, or says that there is no room.
func (d *door) enter(c *conn) bool {
	victim, ok := d.admit(c)
	if victim != nil {
		victim.refuse() // what it began to send is no request of its own
		_ = victim.Conn.Close()
	}
	if victim != nil || !ok {
		d.full()
	}
	return ok
}

func (d *door) admit(c *conn) (victim *conn, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.open) >= d.limit {
		if victim = d.leastNeeded(); victim == nil {
			return nil, false
		}
		delete(d.open, victim)
	}
	d.seq++
	d.open[c] = d.seq
	return victim, true
}

// leastNeeded is called with the lock held. The number of connections is small.
func (d *door) leastNeeded() (least *conn) {
	fresh := false
	for c, seq := range d.open {
		busy, known := c.use()
		if busy || fresh && known {
			continue
		}
		if least == nil || !fresh && !known || seq < d.open[least] {
			least, fresh = c, !known
		}
	}
	return least
}

func (d *door) leave(c *conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, c)
}

// listener wraps what it accepts.
type listener struct {
	net.Listener
	socket string // session of the sandbox socket, empty on the loopback listener
	door   *door
}

func (l listener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &conn{Conn: raw, socket: l.socket, door: l.door}
		if l.door.enter(c) {
			return c, nil
		}
		_ = raw.Close()
	}
}
