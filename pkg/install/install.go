// Package install installs the agent on a host: the program, its link, its units, the manual and
// the completions of shells.
package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/ipc"
	hostsystemd "github.com/netwright/netwright/pkg/host/systemd"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/execute"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/service"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/systemd"
)

// The directories of an installation, and the names of its files.
const (
	programDir  = "/bin/"
	programName = "netwright"
	linkName    = "agent"
	unitsDir    = hostsystemd.AdminUnitDir + "/"
	presetFile  = "/etc/systemd/system-preset/" + systemd.PresetName

	// of user-data
	proxyFile     = unitsDir + service.Unit + ".d/10-bootstrap-proxy.conf"
	bootstrapUnit = "netwright-bootstrap.service" // goes on with a first boot that was interrupted
)

// Prefixes are where the agent is installed if nobody names a prefix: the first that can be written
// and that programs can be run from. On systems whose /usr is read-only (Flatcar, bootc, Fedora
// CoreOS) that is a directory below /usr/local or /opt, which are links into /var there.
var Prefixes = []string{"/usr", "/usr/local", "/opt/netwright", "/var/opt/netwright"}

// otherAgents are where a program of the link's name would be found before it, or be taken for it.
var otherAgents = []string{"/usr/local/sbin/agent", "/usr/local/bin/agent", "/usr/sbin/agent", "/usr/bin/agent",
	"/sbin/agent", "/bin/agent"}

// Installation is the agent itself on a host: its program, its link, its units.
type Installation struct {
	Host    host.Options
	Program blob.Content // the binary
	Arch    string       // that it is for, in GOARCH's words
	Prefix  string       // the program goes into bin below it; "" where it is, or the first of Prefixes that will do
	Enable  bool         // the units start at boot
	Start   bool         // the daemon runs now; one that runs is restarted when it changed
	// Shared is what makes it easy to use, by name below the prefix' share: a manual, completions
	// of shells.
	Shared map[string][]byte
}

// DryRun says what Install would change. It opens the host for reading only.
func (i Installation) DryRun(ctx context.Context) (*report.Plan, error) { return i.plan(ctx, i.tasks) }

// part makes tasks that are run together.
type part func(context.Context, host.View) ([]tasks.Task, []report.Note, error)

// plan says what parts would change, one after the other.
func (i Installation) plan(ctx context.Context, parts ...part) (*report.Plan, error) {
	view, err := host.OpenView(ctx, i.Host)
	if err != nil {
		return nil, fmt.Errorf("read the host: %w", err)
	}
	defer view.Close() // only read from
	return each(ctx, view.View(), parts, report.Planned,
		func(g *tasks.Graph) changes.Work {
			return execute.Plan(ctx, g, view.View(), pendingRestart(ctx, view), nil, nil)
		})
}

// Install makes it so, and changes nothing where it is so. Each file is replaced in one step, so
// that a daemon that runs goes on with its own until it is restarted. It may be called again after
// an error. The start of the daemon is asked for and not waited for: `systemctl status` tells of
// it. None of this is in the ledger: a reset takes away what the agent did, not the agent.
func (i Installation) Install(ctx context.Context) (*report.Plan, error) {
	return i.apply(ctx, i.tasks)
}

// apply makes parts so, one after the other. What fails ends it.
func (i Installation) apply(ctx context.Context, parts ...part) (*report.Plan, error) {
	unlock, err := ipc.Lock(ctx, i.Host.Files(), ledger.LockFile, nil)
	if err != nil {
		return nil, err
	}
	defer unlock()
	h, err := host.Open(ctx, i.Host)
	if err != nil {
		return nil, fmt.Errorf("read the host: %w", err)
	}
	defer h.Close() // every write was synced and checked where it was made
	return each(ctx, h.Live.View(), parts, report.Done,
		func(g *tasks.Graph) changes.Work { return run(ctx, h, g) })
}

// each plans or makes parts, until one fails.
func each(
	ctx context.Context, v host.View, parts []part, state report.State,
	do func(*tasks.Graph) changes.Work,
) (*report.Plan, error) {
	out, total := &report.Plan{}, 0 // there are no documents to name in it
	for _, part := range parts {
		list, notes, err := part(ctx, v)
		if err != nil {
			return nil, err
		}
		g, err := graph.New(list, tasks.AsNodes{}, graph.Options{Parent: graph.PathParent})
		if err != nil {
			return nil, err
		}
		w := do(g)
		for _, step := range w.Steps(state, nil) {
			step.Class, step.ClassWhy = "", "" // an installation takes no checkpoint, and waits for no window
			out.Steps = append(out.Steps, step)
		}
		out.Notes = append(out.Notes, notes...)
		total += len(w.Rep.Results)
		if err := changes.Failure(w.Rep); err != nil {
			out.Finish(total)
			return out, err
		}
	}
	out.Finish(total)
	return out, nil
}

// run applies the tasks of a graph.
func run(ctx context.Context, h *host.Host, g *tasks.Graph) changes.Work {
	asked, done := host.NewPending(pendingRestart(ctx, h.Live)), changes.NewSet()
	view := asked.Over(h.Live.View())
	rep := graph.Run(ctx, g, graph.RunOptions{Deadline: execute.ApplyDeadline},
		func(ctx context.Context, t tasks.Task) error {
			c, err := t.Plan(ctx, view)
			if err != nil || c == nil {
				return err
			}
			key := t.Owns()[0]
			done.Put(key, c)
			if c.NotApplicable != "" {
				return nil
			}
			if err := t.Apply(ctx, h, c); err != nil {
				return err // what is as before asks for no restart
			}
			for _, effect := range c.Effects {
				asked.Ask(string(effect), string(key))
			}
			asked.Ack(string(key))
			return nil
		})
	return changes.Work{Graph: g, Changes: done, Rep: rep}
}

// runs reports whether the daemon runs. systemd calls it activating until the node is prepared, and
// reloading while it converges to another configuration.
func runs(ctx context.Context, v host.View) bool {
	s, err := v.Units.Unit(ctx, service.Unit)
	return err == nil && slices.Contains([]string{"active", "activating", "reloading", "refreshing"}, s.Active)
}

// pendingRestart returns the restart that an earlier install did not make, because it was killed
// after it had replaced the program. The running daemon then has a program file that was deleted.
func pendingRestart(ctx context.Context, l *host.Live) map[string][]string {
	runs, err := l.Files.Readlink(fmt.Sprintf("/proc/%d/exe", l.Units.MainPID(ctx, service.Unit)))
	if err != nil || !strings.HasSuffix(runs, " (deleted)") {
		return nil
	}
	return map[string][]string{string(tasks.Restart(service.Unit)): {"an earlier install"}}
}

var units = []struct{ name, text, why string }{
	{service.Unit, systemd.Agent, "the daemon"},
	{"netwright-recover.service", systemd.Recover, "completes at boot what was killed"},
	{"netwright-undo.service", systemd.Undo, "takes back at boot what was not confirmed"},
}

// tasks returns the tasks of an installation on this host.
func (i Installation) tasks(ctx context.Context, v host.View) (list []tasks.Task, notes []report.Note, err error) {
	facts := v.Facts
	for _, text := range changes.LinksMet(facts, nil) {
		notes = append(notes, report.Warning(text))
	}
	switch {
	case facts.Init != "systemd":
		return nil, nil, errors.New("install: no systemd here: the agent is a service of systemd; use `agent --once` " +
			"from whatever starts services on this host, or name an image with --root")
	case facts.Arch != i.Arch:
		return nil, nil, fmt.Errorf("install: the program is for %s, and the host is %s: name a program for "+
			"the host's architecture with --binary", i.Arch, facts.Arch)
	}
	program, err := i.program(v.Files)
	if err != nil {
		return nil, nil, err
	}
	again := []graph.Key{tasks.DaemonReload}
	if i.Start && runs(ctx, v) {
		again = append(again, tasks.Restart(service.Unit))
		list = append(list, tasks.Effect{Meta: meta("the daemon becomes the new one"), Action: tasks.ActionRestart,
			Unit: service.Unit})
	}
	list = append(list, tasks.Effect{Meta: meta("systemd reads its units again"), Action: tasks.ActionDaemonReload},
		tasks.File{Meta: meta("the agent", again[1:]...), Path: program, Stored: &i.Program, Mode: 0o755})
	if other, err := otherAgent(v, program); err != nil {
		return nil, nil, err
	} else if other != "" {
		notes = append(notes, report.Info(other+
			" is another program: there is no link of that name, use `netwright` for `agent`"))
	} else {
		list = append(list,
			tasks.SymbolicLink{Meta: meta("the agent's other name"), Path: path.Join(path.Dir(program), linkName),
				Target: programName})
	}
	if dir := path.Dir(program); dir != path.Dir(systemd.Program) {
		notes = append(notes, report.Info("the program is "+program+": put "+dir+
			" into PATH, or call it by that name"))
	}
	for _, other := range otherCopies(v.Files, program) {
		notes = append(notes, report.Warning(other+" is another copy of the agent, which this does not update, and which "+
			"a shell may find first: remove it, or the package that brought it"))
	}
	for _, name := range slices.Sorted(maps.Keys(i.Shared)) {
		file := path.Join(path.Dir(program), "../share", name)
		// otherwise the host has no manual and completions, which it does not need
		if v.Files.Writable(file, -1) == nil {
			list = append(list, tasks.File{Meta: meta("the manual, and completions of shells"), Path: file,
				Content: i.Shared[name], Mode: 0o644})
		}
	}
	more, said := i.unitTasks(v, program, again)
	return append(list, more...), append(notes, said...), nil
}

// meta returns what all tasks of an installation have.
func meta(why string, then ...graph.Key) tasks.Meta {
	return tasks.Meta{From: "install", Why: why, Effects: then}
}

// unitTasks returns the tasks of the units and of their preset. again are the effects that a
// changed unit asks for.
func (i Installation) unitTasks(
	v host.View, program string, again []graph.Key,
) (list []tasks.Task, notes []report.Note) {
	yes, own := true, false
	for _, unit := range units {
		if masked(v.Files, unit.name) {
			notes = append(notes, report.Warning(unit.name+" is masked, and stays so: it starts after `systemctl unmask "+
				unit.name+" && agent install`"))
			continue
		}
		text := systemd.WithProgram(unit.text, program)
		if !fromPackage(v, unit.name, text) {
			own = true
			list = append(list, tasks.File{Meta: meta(unit.why, again...), Path: unitsDir + unit.name,
				Content: []byte(text), Mode: 0o644})
		}
		state := tasks.UnitState{Meta: meta(unit.why), Name: unit.name, NoBlock: true}
		state.Requires = []graph.Key{tasks.FileKey(program)}
		if i.Enable {
			state.Enabled = &yes
		}
		if i.Start && unit.name == service.Unit && !slices.Contains(again, tasks.Restart(service.Unit)) {
			state.Active = &yes
		}
		if state.Enabled != nil || state.Active != nil {
			list = append(list, state)
		}
	}
	if own && i.Enable { // a package brings the preset that its distribution needs
		list = append(list, tasks.File{Meta: meta("a first boot leaves the units enabled"), Path: presetFile,
			Content: []byte(systemd.Preset), Mode: 0o644})
	}
	return list, notes
}

// program returns the path of the program. It returns an error if nobody can write or run the
// program or write the units on this host, so that nothing is installed only in part.
func (i Installation) program(files hostfs.Files) (string, error) {
	prefixes := Prefixes
	if i.Prefix != "" {
		prefixes = []string{i.Prefix}
	} else if there := installedProgram(files); there != "" {
		return there, nil
	}
	if err := files.Writable(unitsDir+service.Unit, -1); err != nil {
		return "", fmt.Errorf("install: the units go to %s: %w, or bake the agent into the image with --root", unitsDir, err)
	}
	var errs []error
	for _, prefix := range prefixes {
		program := path.Join(prefix, programDir, programName)
		err := cmp.Or(files.Writable(program, -1), files.Runnable(program), i.replaceable(files, program))
		if err == nil {
			return program, nil
		}
		errs = append(errs, err)
	}
	return "", fmt.Errorf("install: name a directory that can be written, and that programs can be run from, with "+
		"--prefix: %w", errors.Join(errs...))
}

// replaceable returns an error if another user of this host may replace the program, or a directory
// above it. The files of an image may belong to who builds it.
func (i Installation) replaceable(files hostfs.Files, program string) error {
	for dir := program; dir != "/" && i.Host.Root == "/"; {
		dir = path.Dir(dir)
		info, err := files.Lstat(dir) // what does not exist is made, and belongs to root then
		if err == nil && (info.UID != 0 || info.Type == hostfs.Directory && info.Mode&(0o002|fs.ModeSticky) == 0o002) {
			return fmt.Errorf("%s belongs to user %d and has mode %v, and who can replace the program there is root: name "+
				"another directory, or change that", dir, info.UID, info.Mode)
		}
	}
	return nil
}

// installedProgram returns the program that the units of this host run, or "" if it does not exist.
func installedProgram(files hostfs.Files) string {
	for _, dir := range hostsystemd.InstalledUnitDirs {
		if text, err := files.ReadFile(path.Join(dir, service.Unit)); err == nil {
			program := systemd.ProgramOf(string(text))
			if _, err := files.Lstat(program); err == nil && path.Base(program) == programName {
				return program
			}
		}
	}
	return ""
}

// otherCopies returns the programs below the other prefixes.
func otherCopies(files hostfs.Files, program string) (list []string) {
	if real, err := files.Resolve(program); err == nil {
		program = real
	}
	for _, prefix := range Prefixes {
		other, err := files.Resolve(path.Join(prefix, programDir, programName))
		if err == nil && other != program {
			if _, err := files.Lstat(other); err == nil {
				list = append(list, other)
			}
		}
	}
	return list
}

// otherAgent returns the path of a file named agent that is not a link to program, or "".
func otherAgent(v host.View, program string) (string, error) {
	for _, name := range append(slices.Clone(otherAgents), path.Join(path.Dir(program), linkName)) {
		info, err := v.Files.Lstat(name)
		switch {
		case errors.Is(err, host.ErrNotExist):
			continue
		case err != nil:
			return "", err
		case info.Type == hostfs.Symlink:
			if target, err := v.Files.Readlink(name); err == nil && (target == programName || target == program) {
				continue
			}
		}
		return name, nil
	}
	return "", nil
}

// masked reports whether a person masked a unit, so that nothing starts it.
func masked(files hostfs.Files, name string) bool {
	return slices.ContainsFunc([]string{hostsystemd.AdminUnitDir, "/run/systemd/system"}, func(dir string) bool {
		target, err := files.Readlink(path.Join(dir, name))
		return err == nil && target == "/dev/null"
	})
}

// fromPackage reports whether a package has installed a unit with this text, and no file in /etc
// overrides it.
func fromPackage(v host.View, name, text string) bool {
	if _, err := v.Files.Lstat(unitsDir + name); err == nil {
		return false
	}
	return slices.ContainsFunc(hostsystemd.VendorUnitDirs, func(dir string) bool {
		raw, err := v.Files.ReadFile(path.Join(dir, name))
		return err == nil && string(raw) == text
	})
}
