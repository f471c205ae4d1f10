package execute

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"testing"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/archive"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// mirror reports a request, and answers when it is allowed to.
type mirror struct{ asked, answer chan struct{} }

func (m mirror) Open(ctx context.Context, _ string) (io.ReadCloser, int64, error) {
	close(m.asked)
	select {
	case <-m.answer:
		return nil, 0, graph.Permanent(errors.New("there is nothing"))
	case <-ctx.Done():
		return nil, 0, context.Cause(ctx)
	}
}

// checkpoint is an [Admission] for which all files wait, until the mirror gets a request.
type checkpoint struct{ mirror }

func (c checkpoint) Before(_ context.Context, t tasks.Task, _ *tasks.Change) (waited bool, err error) {
	if _, is := t.(note); is {
		<-c.asked
	}
	return false, nil
}

// A download begins before the checkpoint for which everything else waits. A download that stops
// keeps nothing back. It is last in the plan, after more files than are made at once.
func TestADownloadRunsBesideAllElse(t *testing.T) {
	m := mirror{asked: make(chan struct{}), answer: make(chan struct{})}
	list := []tasks.Task{tasks.Archive{Meta: tasks.Meta{From: "test"}, Name: "tools", URLs: []string{"tools.tar"},
		Sum: archive.ChecksumOf([]byte("x")), Dir: "/z/bin", Members: []string{"tool"}, Mode: 0o755, Fetch: m}}
	const files = atOnce + 2
	for i := range files {
		list = append(list, note{path: fmt.Sprintf("/f%d", i), want: "x"})
	}
	left := files
	steps, err := onceWith(t, t.TempDir(), Options{Log: zap.NewNop(), Admission: checkpoint{m}, Hooks: Hooks{OnDone: func(key graph.Key, s graph.State) {
		if s == graph.Done {
			if left--; left == 0 {
				close(m.answer)
			}
		}
	}}}, list...)
	if err == nil || left > 0 {
		t.Errorf("%d files are left; %v", left, err)
	}
	if n := len(steps); states(steps)["file:/f0"] != report.Done || n != files+1 {
		t.Errorf("%d steps: %v", n, steps)
	}
}

// crowd is an [Admission] that admits nobody before all are there.
type crowd struct{ missing *sync.WaitGroup }

func (c crowd) Before(ctx context.Context, _ tasks.Task, _ *tasks.Change) (waited bool, err error) {
	c.missing.Done()
	all := make(chan struct{})
	go func() { c.missing.Wait(); close(all) }()
	select {
	case <-all:
		return false, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// Tasks wait for the disk at the same time, however few processors there are. The line that keeps
// it: apply.go, Apply (atOnce).
func TestSixteenTasksWaitSideBySide(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	c := crowd{new(sync.WaitGroup)}
	c.missing.Add(atOnce)
	var list []tasks.Task
	for i := range atOnce {
		list = append(list, note{path: fmt.Sprintf("/f%d", i), want: "x"})
	}
	if _, err := onceWith(t, t.TempDir(), Options{Log: zap.NewNop(), Admission: c}, list...); err != nil {
		t.Error(err)
	}
}
