package publish

import (
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/test/clock"
)

// noted is a status whose times were noted ten minutes ago, before the clock was set by 50 years.
func noted() *report.Status {
	s := status("a")
	s.At = clock.NotedBefore(time.Now().Add(-10*time.Minute), 50*365*24*time.Hour)
	s.Up, s.Agent.Started = report.SecondsOf(host.Uptime()-10*time.Minute), s.At
	return s
}

// A reader of the socket, and one of the file, sees when something was by the clock as it is now.
// The lines that keep it: status_socket.go, reader; status_file.go, write and ReadStatusFile.
func TestReadersWhereTheClockIsSet(t *testing.T) {
	check := func(where string, got *report.Status) {
		t.Helper()
		if age := time.Since(got.Agent.Started); (age - 10*time.Minute).Abs() > time.Minute {
			t.Errorf("%s: the agent began %s ago, want 10 min", where, age)
		}
	}
	f, opt, stop := feed(t)
	defer stop()
	f.Observe(noted(), nil)
	r, err := ReadFeed(t.Context(), opt, "v1")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	news, err := r.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	check("the socket", news.Status)

	file := &File{Host: opt, GID: -1, Log: zap.NewNop()}
	for where, s := range map[string]*report.Status{"the file": noted(), "a file of before": stripped(noted())} {
		if err := file.write(s); err != nil {
			t.Fatal(err)
		}
		got, err := ReadStatusFile(opt)
		if err != nil {
			t.Fatal(err)
		}
		check(where, got)
	}
}

// stripped is a status as the file has it that was written before the clock was set.
func stripped(s *report.Status) *report.Status {
	s.At, s.Agent.Started = s.At.Round(0), s.Agent.Started.Round(0)
	return s
}
