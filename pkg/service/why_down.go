package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/config/agentfile"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/systemd"
	"github.com/netwright/netwright/pkg/publish"
	"github.com/netwright/netwright/pkg/report"
)

// The switches that prevent the start of the daemon at boot. They are conditions of the unit. The
// path of the file is relative to the root.
const (
	DisabledFile = "/etc/netwright/disabled"
	DisabledWord = "netwright.off"
)

// Off lists the switches that are set, each with how to turn the daemon on again.
func Off(opt host.Options) (off []string) {
	files, err := host.OpenFiles(opt)
	if err == nil {
		defer files.Close() // only for reading
		if _, err := files.Lstat(DisabledFile); err == nil {
			off = append(off, fmt.Sprintf("%s is there, so the daemon does not start: rm %s && systemctl start "+
				"netwright-agent", DisabledFile, DisabledFile))
		}
	}
	if slices.ContainsFunc(host.BootArgs(opt),
		func(word string) bool { return word == DisabledWord || strings.HasPrefix(word, DisabledWord+"=") }) {
		off = append(off, fmt.Sprintf("the kernel was started with %s, so the daemon does not start: remove "+
			"that parameter and boot", DisabledWord))
	}
	return off
}

// WhyDown returns why no daemon runs on a host, from the state that systemd has, and what to do.
// Callers use it when no daemon answers. It writes and starts nothing. told reports whether the
// agent's file names a store: without a store the daemon ends right after its start.
func WhyDown(ctx context.Context, opt host.Options, told bool) report.Daemon {
	d := report.Daemon{Off: Off(opt)}
	u, err := host.LookAtUnit(ctx, opt, Unit)
	switch {
	case errors.Is(err, host.ErrNoLiveState):
		d.Why = "no systemd runs here, so no daemon was started"
		d.Do = "agent --once converges once; agent is the daemon"
	case err != nil:
		d.Why = err.Error()
	case u.Load == "not-found":
		d.Why, d.Do = Unit+" is not installed", "agent install"
	case u.Load == "masked" || u.File == "masked":
		d.Why, d.Do = Unit+" is masked", "systemctl unmask "+Unit+" && systemctl enable --now "+Unit
	case u.Load != "loaded":
		d.Why, d.Do = fmt.Sprintf("%s cannot be loaded (%s)", Unit, u.Load), "systemctl status "+Unit
	case u.Active == "failed":
		d.Why, d.Do = fmt.Sprintf("%s failed %s ago (%s)", Unit, since(u), u.Result),
			"journalctl -u netwright-agent -e says why; systemctl restart netwright-agent tries again"
	case u.Active == "active", u.Active == "activating" && u.Sub != "auto-restart":
		d.Why, d.Do = whyUnreached(opt, u)
	case u.Active == "activating":
		d.Why, d.Do = fmt.Sprintf("%s ended %s ago, and systemd is about to start it again", Unit, since(u)),
			"journalctl -u netwright-agent -e says why it ended"
	case len(d.Off) > 0:
		d.Why = "it is switched off"
	case !told:
		d.Why, d.Do = "no state store is named, so the daemon has nothing to do",
			"write `store:` into "+agentfile.Path+", then: systemctl enable --now netwright-agent"
	case u.File == "disabled":
		d.Why, d.Do = Unit+" is disabled", "systemctl enable --now netwright-agent"
	default:
		d.Why, d.Do = fmt.Sprintf("%s is %s, and was stopped", Unit, u.Active), "systemctl start netwright-agent"
	}
	return d
}

// whyUnreached explains a daemon that runs and does not answer. If somebody removed its socket, for
// example with rm -r /run/netwright, the daemon continues to work. It does not create the socket
// again, because the locks in the same directory are gone too, and only a restart creates all of
// them.
func whyUnreached(opt host.Options, u systemd.UnitState) (why, do string) {
	files, err := host.OpenFiles(opt)
	if err == nil {
		defer files.Close() // only for reading
		if _, err = files.Lstat(publish.FeedSocket); errors.Is(err, fs.ErrNotExist) && u.Active == "active" {
			return fmt.Sprintf("%s is active, but its socket %s was removed; the daemon goes on "+
					"repairing the node", Unit, publish.FeedSocket),
				"systemctl restart netwright-agent makes " + publish.Dir + " again"
		}
	}
	return fmt.Sprintf("%s is %s, and its status socket does not answer", Unit, u.Active),
		"journalctl -u netwright-agent -e"
}

// since returns how long ago a unit changed its state.
func since(u systemd.UnitState) time.Duration {
	return max(time.Duration(systemd.ClockUS())-time.Duration(u.ChangedUS),
		0) * time.Microsecond / time.Second * time.Second
}
