package control

import (
	"encoding/json"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/netwright/netwright/pkg/host/ipc"
)

// line is the way to a client. It may be gone: then what is said is lost, and that is no error.
// Safe for several goroutines.
type line struct {
	mu   sync.Mutex
	conn *net.UnixConn
	dead bool
}

func (l *line) send(e Event) {
	data, err := json.Marshal(e)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return
	}
	if err == nil {
		_ = l.conn.SetWriteDeadline(time.Now().Add(writeLimit))
		_, err = l.conn.Write(append(data, '\n'))
	}
	if err != nil {
		l.dead = true
		_ = l.conn.Close() // half a line is worth nothing
	}
}

func (l *line) end(why string) {
	l.send(Event{Event: End, Error: &Failure{Text: why, Besides: why}})
	_ = l.conn.Close()
}

// Job is what one client asks for.
type Job struct {
	Request
	Peer  ipc.Peer
	line  *line
	gone  <-chan struct{}           // closed when the client is
	at    *atomic.Pointer[activity] // the server's
	ended chan struct{}
	once  sync.Once
}

// Gone says that the client is gone: what was not begun for it is not begun any more.
func (j *Job) Gone() bool {
	select {
	case <-j.gone:
		return true
	default:
		return false
	}
}

// String is "rollback by alice (pid 12)".
func (j *Job) String() string {
	text := string(j.Command)
	if j.By != "" {
		text += " by " + j.By
	}
	return fmt.Sprintf("%s (pid %d)", text, j.Peer.PID)
}

// Send tells the client something. It never waits for long, and a client that is gone is no error.
func (j *Job) Send(e Event) { j.line.send(e) }

// End tells the client how it ended. It is called once for each job that was taken; later calls do
// nothing.
func (j *Job) End(e Event) {
	j.once.Do(func() {
		if at := j.at.Load(); at != nil && at.name == j.String() { // a client that hears of it may ask for more at once
			j.at.CompareAndSwap(at, nil)
		}
		e.Event = End
		j.line.send(e)
		close(j.ended)
	})
}
