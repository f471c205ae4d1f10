package issue

import (
	"context"
	"sync"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/kube"
)

// askTimeout is how long a pass waits for the answer to a question that it begins.
const askTimeout = 250 * time.Millisecond

// Questions asks the Kubernetes API beside the passes of the daemon, because no repair may wait for
// a server. A pass waits briefly for the answer to a question that it begins, and not at all for
// the answer to an older one. A pass that has no Questions, such as one in the foreground, waits.
type Questions struct {
	mu    sync.Mutex
	asked map[string]*question // by the name of the request
	ended chan struct{}
}

// question is a question under way, or its answer.
type question struct {
	done chan struct{}
	got  *kube.SigningRequest
	err  error
	late bool // a pass did not wait for it
}

// NewQuestions returns an empty Questions.
func NewQuestions() *Questions {
	return &Questions{asked: map[string]*question{}, ended: make(chan struct{}, 1)}
}

// Ended receives when there is an answer for which a pass did not wait. The daemon then makes a
// pass, which takes it.
func (q *Questions) Ended() <-chan struct{} { return q.ended }

// ask returns the answer to the question about a request, or a wait error while there is none. do
// asks the question; it must end by itself.
func (q *Questions) ask(
	ctx context.Context, name string, do func(context.Context) (*kube.SigningRequest, error),
) (*kube.SigningRequest, error) {
	if q == nil {
		return do(ctx)
	}
	q.mu.Lock()
	one, wait := q.asked[name], time.Duration(0)
	if one == nil {
		one, wait = &question{done: make(chan struct{})}, askTimeout
		q.asked[name] = one
		go q.answer(context.WithoutCancel(ctx), one, do) // the answer may come after the pass
	}
	q.mu.Unlock()
	select {
	case <-one.done:
	case <-ctx.Done():
	case <-time.After(wait):
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case <-one.done:
		delete(q.asked, name)
		return one.got, one.err
	default:
		one.late = true
		return nil, graph.Wait("the Kubernetes API to answer about the request " + name)
	}
}

// answer asks a question and keeps the answer.
func (q *Questions) answer(
	ctx context.Context, one *question, do func(context.Context) (*kube.SigningRequest, error),
) {
	one.got, one.err = do(ctx)
	q.mu.Lock()
	defer q.mu.Unlock()
	close(one.done)
	if one.late {
		select {
		case q.ended <- struct{}{}:
		default: // a pass is due already
		}
	}
}
