package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/certs/issue"
	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/history"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/support"
)

// gathering has the sources of a support archive.
type gathering struct {
	f       *cli.Flags
	view    *host.Live
	confErr error
	opened  *cli.Opened    // nil: the store cannot be opened; see why
	desired *desired.State // nil: there are no usable documents; see why
	why     error
}

// planTime is the time limit of the dry run, which reads what is installed and asks the store.
const planTime = time.Minute

// pieces lists the pieces of an archive.
func (g *gathering) pieces() []support.Piece {
	list := []support.Piece{
		{Name: "agent/version.txt", Text: "the agent's version and the system's", Get: g.versions},
		{Name: "agent/status.txt", Text: "agent status", Get: g.status},
		{Name: "agent/status.json", Text: "agent status -o json", Get: asJSON(func(ctx context.Context) (any, error) {
			return g.look(ctx)
		})},
		{Name: "agent/plan.txt", Text: "agent --dry-run: what would change, and why", Limit: planTime, Get: g.plan},
		{Name: "agent/history.json", Text: "agent history -o json", Get: asJSON(func(context.Context) (any, error) {
			h, err := history.Read(g.f.Host)
			if err != nil {
				return nil, err
			}
			return list(h), nil
		})},
		{Name: "agent/ledger.json", Text: "what the agent owns and owes, without contents and secret values",
			Get: asJSON(g.ledger)},
		{Name: "agent/config.json", Text: "agent config -o json: the merged documents, without contents",
			Get: asJSON(func(context.Context) (any, error) {
				if g.desired == nil {
					return nil, g.why
				}
				return configured{g.desired.Node, origins(g.desired.Node)}, nil
			})},
		{Name: "agent/certs.json", Text: "agent certs -o json", Get: asJSON(func(context.Context) (any, error) {
			return issue.List(g.f.Host, g.f.Node, time.Now())
		})},
		{Name: "agent/agent.yaml", Text: "the agent's own file", Get: func(context.Context) ([]byte, error) {
			text, err := cli.ReadFile(cmp.Or(g.f.Conf, defaultConf))
			return text, errors.Join(err, g.confErr)
		}},
		{Name: "host/facts.json", Text: "agent facts -o json",
			Get: asJSON(func(context.Context) (any, error) { return g.view.Facts, nil })},
		{Name: "host/files.txt", Text: "names, modes and owners of the agent's files and of the CNI directories",
			Get: g.listing},
	}
	for _, name := range []string{"/etc/os-release", "/proc/version", "/proc/modules", "/proc/self/mountinfo",
		"/etc/resolv.conf", "/run/netwright/status.json"} {
		list = append(list, support.Piece{Name: "host/" + strings.ReplaceAll(name[1:], "/", "_"), Text: name,
			Get: func(context.Context) ([]byte, error) {
				if strings.HasPrefix(name, "/proc/") {
					return g.view.Files.ReadFile(name)
				}
				return g.view.Files.Strict().ReadFile(name)
			}})
	}
	for _, d := range host.Diagnoses() {
		list = append(list, support.Piece{Name: "host/" + d.Name + ".txt", Text: d.Name,
			Get: func(ctx context.Context) ([]byte, error) {
				return g.view.Diagnose(ctx, d, support.PieceTime, 4*support.PieceSize)
			}})
	}
	return append(list, g.confs()...)
}

func asJSON(get func(context.Context) (any, error)) func(context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		v, err := get(ctx)
		if err != nil {
			return nil, err
		}
		return json.MarshalIndent(v, "", "  ")
	}
}

func (g *gathering) versions(context.Context) ([]byte, error) {
	f := g.view.Facts
	return fmt.Appendf(nil, "agent %s\nsystem %s\nkernel %s %s\nruntime %s %s\nkubelet %s\n", version, f.OS.Pretty,
		f.Kernel.Release, f.Arch, f.Runtime.Name, f.Runtime.Version, f.Kubelet.Version), nil
}

func (g *gathering) look(ctx context.Context) (report.StatusView, error) {
	view, feed, err := statusReader{g.f}.look(ctx)
	leave(feed)
	return view, err
}

func (g *gathering) status(ctx context.Context) ([]byte, error) {
	view, err := g.look(ctx)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = report.StatusText(&out, view, report.StatusOptions{Width: 120, Now: time.Now()})
	return out.Bytes(), err
}

// plan makes a dry run as `agent --dry-run` does.
func (g *gathering) plan(ctx context.Context) ([]byte, error) {
	if g.opened == nil || g.desired == nil && !g.opened.Pass.Session().Pinned() {
		return nil, g.why
	}
	pass := g.opened.Pass
	pass.Log, pass.ForceRepair = zap.NewNop(), true
	plan, err := pass.DryRun(ctx, g.desired)
	if plan == nil {
		return nil, err
	}
	var out bytes.Buffer
	err = errors.Join(err, report.Text(&out, plan, report.TextOptions{Diffs: true}))
	return out.Bytes(), err
}

// ledger returns the entries of the ledger, without the value and baseline of secret ones.
func (g *gathering) ledger(context.Context) (any, error) {
	led := ledger.Load(g.view.Files)
	entries := led.Entries()
	out := make([]ledger.Entry, 0, len(entries))
	for _, e := range entries {
		if e.Task != nil && secretTask(*e.Task).Secret {
			task := *e.Task
			task.Params = nil
			e.Task, e.Baseline, e.Last = &task, nil, ""
		}
		out = append(out, e)
	}
	slices.SortStableFunc(out, func(a, b ledger.Entry) int { return strings.Compare(string(a.Key), string(b.Key)) })
	return struct {
		Head    ledger.Head    `json:"head"`
		Damage  []string       `json:"damage,omitempty"`
		Entries []ledger.Entry `json:"entries"`
	}{led.Head(), led.Damage(), out}, nil
}

// cniDirs are default directories of confs, in addition to the runtime's own.
var cniDirs = []string{"/etc/cni/net.d"}

// listing lists the files in the agent's and CNI's directories, without contents.
func (g *gathering) listing(context.Context) ([]byte, error) {
	var out bytes.Buffer
	dirs := append([]string{"/etc/netwright", "/run/netwright", hostfs.StateDir, "/opt/cni/bin",
		g.view.Facts.Runtime.ConfDir}, cniDirs...)
	slices.Sort(dirs)
	for _, dir := range slices.Compact(dirs) {
		names, err := g.view.Files.Strict().ReadDir(dir)
		if dir == "" || errors.Is(err, host.ErrNotExist) {
			continue
		}
		fmt.Fprintf(&out, "%s:\n", dir)
		if err != nil {
			fmt.Fprintln(&out, "  ", err)
		}
		for _, name := range names {
			info, err := g.view.Files.Strict().Lstat(path.Join(dir, name))
			if err != nil {
				fmt.Fprintln(&out, "  ", err)
				continue
			}
			fmt.Fprintf(&out, "  %s %v %d:%d %10d %s %s\n", info.Type, info.Mode, info.UID, info.GID, info.Size,
				report.Stamp(time.Unix(0, info.Mtime)), name)
		}
	}
	return out.Bytes(), nil
}

// confs returns the CNI confs of the host. It skips symbolic links, because pods can write to these
// directories and could link any file. It skips the kubeconfigs in the same directories, too.
func (g *gathering) confs() (list []support.Piece) {
	dirs := append([]string{g.view.Facts.Runtime.ConfDir}, cniDirs...)
	slices.Sort(dirs)
	for _, dir := range slices.Compact(dirs) {
		names, err := g.view.Files.Strict().ReadDir(dir)
		if dir == "" || err != nil {
			continue
		}
		for _, name := range names {
			if ext := path.Ext(name); ext != ".conf" && ext != ".conflist" {
				continue
			}
			file := path.Join(dir, name)
			list = append(list, support.Piece{Name: "host/cni/" + strings.ReplaceAll(file[1:], "/", "_"), Text: file,
				Get: func(context.Context) ([]byte, error) { return g.view.Files.Strict().ReadFile(file) }})
		}
	}
	return list
}
