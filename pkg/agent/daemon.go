package agent

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/statestore"
)

// Manager is the service manager that waits for READY; publish.Systemd is one.
type Manager interface {
	Ready(status string) error
	Status(status string) error
	Stopping() error
	Watchdog(ctx context.Context, alive func() bool) error
}

// Daemon converges, and again every interval.
type Daemon struct {
	Pass     Pass
	Store    statestore.Store
	Select   config.Select
	Interval time.Duration // between passes, give or take a tenth
	Manager  Manager
}

// Times of the daemon's life.
const (
	retryFirst = time.Second      // after a failed pass, doubled each time …
	retryMax   = time.Minute      // … up to this, and never above the interval
	passLimit  = 30 * time.Minute // a pass that takes longer hangs: the watchdog may end it
)

// Run converges until ctx ends, and then returns nil: to be stopped is no
// error. READY is said once, when everything that kubelet needs is right.
func (d Daemon) Run(ctx context.Context) error {
	var passSince atomic.Int64 // when the running pass began, in nanoseconds; 0 between passes
	watched, stop := context.WithCancelCause(ctx)
	petted := make(chan error, 1)
	go func() {
		petted <- d.Manager.Watchdog(watched, func() bool {
			since := passSince.Load()
			return since == 0 || time.Since(time.Unix(0, since)) < passLimit
		})
	}()
	defer func() {
		stop(errors.New("the daemon stops"))
		if err := <-petted; err != nil {
			d.Pass.Log.Warn("the watchdog is not petted", zap.Error(err))
		}
	}()

	var desired *Desired
	ready, failures, told := false, 0, map[string]bool(nil)
	for {
		passSince.Store(time.Now().UnixNano())
		plan, err := d.once(ctx, &desired)
		passSince.Store(0)
		if ctx.Err() != nil {
			return d.Manager.Stopping()
		}
		if failures++; err == nil {
			failures = 0
		}
		told = tell(d.Pass.Log, plan, told)
		status := statusLine(plan, err)
		tell := d.Manager.Status
		if !ready && prepared(plan) {
			tell, ready = d.Manager.Ready, true
			d.Pass.Log.Info("prepared: kubelet may start")
		}
		if err := tell(status); err != nil {
			d.Pass.Log.Warn("systemd was not told", zap.Error(err))
		}
		if !pause(ctx, d.delay(failures)) {
			return d.Manager.Stopping()
		}
	}
}

// once makes one pass with the newest documents. A store that cannot be
// reached does not stop the repair of what is already known.
func (d Daemon) once(ctx context.Context, desired **Desired) (*report.Plan, error) {
	var last statestore.Revision
	if *desired != nil {
		last = (*desired).Snapshot.Revision
	}
	fresh, loadErr := Load(ctx, d.Store, d.Select, last)
	switch {
	case loadErr == nil:
		*desired = fresh
	case errors.Is(loadErr, statestore.ErrNotModified):
		loadErr = nil
	default:
		d.Pass.Log.Error("the configuration could not be loaded", zap.Error(loadErr), zap.Bool("going on with the last one", *desired != nil))
	}
	if *desired == nil {
		return nil, loadErr
	}
	plan, err := d.Pass.Converge(ctx, *desired)
	if err != nil && !asRunError(err) { // the tasks' own errors are logged where they happen
		d.Pass.Log.Error("the pass failed", zap.Error(err))
	}
	return plan, errors.Join(loadErr, err)
}

// delay is the pause before the next pass: the interval, or after failures a
// shorter one that grows; both with jitter, so that a fleet does not act in step.
func (d Daemon) delay(failures int) time.Duration {
	pause := d.Interval
	if failures > 0 {
		pause = min(retryFirst<<min(failures-1, 10), retryMax, d.Interval)
	}
	return time.Duration(float64(pause) * (0.9 + 0.2*rand.Float64())) // jitter
}

func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// prepared says that all of the first gate is right. What waits there (a pod
// CIDR that only a running kubelet brings) does not hold kubelet back.
func prepared(p *report.Plan) bool {
	if p == nil {
		return false
	}
	for _, s := range p.Steps {
		if s.Gate == gateName(0) && (s.State == report.Failed || s.State == report.Skipped || s.State == report.Stopped) {
			return false
		}
	}
	return true
}

// levels are the log's for those of a note.
var levels = map[string]zapcore.Level{"info": zap.InfoLevel, "warning": zap.WarnLevel}

// tell logs what waits and what a person should know, when it comes up and not
// at every pass. It returns what is known now; told is that of the last pass.
func tell(log *zap.Logger, p *report.Plan, told map[string]bool) map[string]bool {
	if p == nil {
		return told
	}
	now := map[string]bool{}
	for _, s := range p.Steps {
		if id := s.Key + " " + s.Message; s.State == report.Waits && !now[id] {
			if now[id] = true; !told[id] {
				log.Info("waiting", zap.String("key", s.Key), zap.String("for", s.Message))
			}
		}
	}
	for _, n := range p.Notes {
		if id := n.Origin + " " + n.Text; !now[id] {
			if now[id] = true; !told[id] {
				log.Log(levels[n.Level], n.Text, zap.String("origin", n.Origin))
			}
		}
	}
	return now
}

func statusLine(p *report.Plan, err error) string {
	if p == nil {
		return fmt.Sprintf("not converged: %.200v", err)
	}
	s := p.Summary
	line := fmt.Sprintf("%s: %d of %d right, %d changed now", p.Network, s.Right, s.Tasks, s.Changes())
	if s.Waiting > 0 {
		line += fmt.Sprintf(", %d waiting", s.Waiting)
	}
	if s.Failed > 0 {
		line += fmt.Sprintf(", %d failed", s.Failed)
	}
	return line
}
