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

// line writes events to a client. If the client is gone, events are dropped without an error.
// Several goroutines may use a line.
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
		_ = l.conn.Close() // the client cannot use half a line
	}
}

func (l *line) end(why string) {
	l.send(Event{Event: End, Error: &Failure{Text: why, Besides: why}})
	_ = l.conn.Close()
}

// Job is the request of one client.
type Job struct {
	Request
	Peer  ipc.Peer
	line  *line
	gone  <-chan struct{}           // closed when the client has gone
	at    *atomic.Pointer[activity] // the server's field
	ended chan struct{}
	once  sync.Once
}

// Gone reports that the client has gone. The daemon does not begin the work of such a client.
func (j *Job) Gone() bool {
	select {
	case <-j.gone:
		return true
	default:
		return false
	}
}

// String returns the command and its caller: "rollback by alice (pid 12)".
func (j *Job) String() string {
	text := string(j.Command)
	if j.By != "" {
		text += " by " + j.By
	}
	return fmt.Sprintf("%s (pid %d)", text, j.Peer.PID)
}

// Send sends an event to the client. It waits at most writeLimit, and it is no error if the client
// has gone.
func (j *Job) Send(e Event) { j.line.send(e) }

// End sends the result to the client. The daemon calls it for each job that it takes; later calls
// do nothing.
func (j *Job) End(e Event) {
	j.once.Do(func() {
		if at := j.at.Load(); at != nil && at.name == j.String() { // before the client's next request
			j.at.CompareAndSwap(at, nil)
		}
		e.Event = End
		j.line.send(e)
		close(j.ended)
	})
}
