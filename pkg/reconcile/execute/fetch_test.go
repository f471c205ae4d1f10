package execute

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"testing"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/archive"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// mirror says when it is asked, and answers when it is let.
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

// checkpoint is an [Admission] that all files wait for, until the mirror was asked.
type checkpoint struct{ mirror }

func (c checkpoint) Before(_ context.Context, t tasks.Task, _ *tasks.Change) (waited bool, err error) {
	if _, is := t.(note); is {
		<-c.asked
	}
	return false, nil
}

// A download begins before the checkpoint is taken that everything else waits for, and one that
// stalls holds nothing up. It comes last in the plan, after more files than are made side by side.
func TestADownloadRunsBesideAllElse(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	m := mirror{asked: make(chan struct{}), answer: make(chan struct{})}
	list := []tasks.Task{tasks.Archive{Meta: tasks.Meta{From: "test"}, Name: "tools", URLs: []string{"tools.tar"},
		Sum: archive.ChecksumOf([]byte("x")), Dir: "/z/bin", Members: []string{"tool"}, Mode: 0o755, Fetch: m}}
	const files = 3
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
