package tasks

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
)

// KindConf is the kind of a CNI conf in force: conf:/etc/cni/net.d/10-flannel.conflist.
const KindConf = "conf"

// WaitConf waits until a CNI conf is in force: the file is in the directory and valid, the plugins
// that it names are installed, and no other file comes before it. WaitConf only reads: another
// program writes the conf (a DaemonSet or the runtime), or a [File] task does.
//
// While the conf is missing or incomplete, Plan returns a [graph.Wait]. A conf that has been broken
// for a minute is an error. Another conf in force is an error too, which names the file, because
// only a person can say which of the two is wanted.
type WaitConf struct {
	Meta
	Network string   // for messages: "flannel"
	Writer  string   // for messages: "its DaemonSet writes it"
	Dir     string   // the runtime's conf directory
	File    string   // base name; "": any conf
	Or      string   // a second accepted base name, where the writer chooses between the two
	BinDirs []string // where the runtime looks for plugins
	// FirstOnly says that the consumer stops at the first file even if it is broken, as containerd
	// does; kubelet and CRI-O try the next file.
	FirstOnly bool
	Consumer  Consumer
}

var _ Task = WaitConf{}

// Owns implements [Task].
func (t WaitConf) Owns() []graph.Key {
	return []graph.Key{graph.MakeKey(KindConf, path.Join(t.Dir, t.File))}
}

// Apply implements [Task]. It does nothing, because Plan never returns a change.
func (t WaitConf) Apply(context.Context, *host.Host, *Change) error { return nil }

// Plan implements [Task]. It never returns a change, only nil, a wait or an error.
func (t WaitConf) Plan(_ context.Context, v host.View) (*Change, error) {
	confs, err := t.Effective(v)
	if err != nil {
		return nil, err
	}
	for _, conf := range confs { // a meta-plugin's conf calls another one
		if err := t.missingPlugins(v, conf); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// Effective returns the conf that the consumer uses, as the last one, after the confs of
// meta-plugins that call it. Where the consumer uses another conf than the wanted one, it returns a
// [graph.Wait] or an error, as Plan does. It does not check the plugins. A conf that another task
// is about to write is empty.
func (t WaitConf) Effective(v host.View) ([]CNIConf, error) {
	names, err := v.Files.ReadDir(t.Dir)
	if IgnoreMissing(err) != nil {
		return nil, fmt.Errorf("list the CNI confs in %s: %w", t.Dir, err)
	}
	if t.Or != "" && slices.Contains(names, t.Or) && !slices.Contains(names, t.File) {
		t.File = t.Or
	}
	coming := t.File != "" && willExist(v, FileKey(path.Join(t.Dir, t.File)))
	if coming && !slices.Contains(names, t.File) {
		names = append(names, t.File)
	}
	confs, err := confFiles(v, t.Dir, names)
	if err != nil {
		return nil, err
	}
	first, found := t.effective(v, confs, coming)
	if t.File != "" && !slices.Contains(confs, t.File) {
		return nil, t.waitForConf(first, found)
	}
	if !found && first.err == nil {
		return nil, graph.Wait(fmt.Sprintf("%s: no conf in %s yet (%s)%s", t.Network, t.Dir, t.Writer,
			notRead(v, t.Dir, names)))
	}
	if err := t.judge(v, first); err != nil {
		return nil, err
	}
	if t.File == "" && first.conf.Of != "" {
		return nil, t.notForPods(v, first, confs)
	}
	return append(first.before, first.conf), nil
}

// notRead returns a text about directories with names of confs, which no runtime reads.
func notRead(v host.View, dir string, names []string) (text string) {
	for _, name := range names {
		if info, err := v.Files.Lstat(path.Join(dir, name)); isConf(name) && err == nil &&
			info.Type == hostfs.Directory {
			text += fmt.Sprintf("; %s is a directory, which no runtime reads: remove it", path.Join(dir, name))
		}
	}
	return text
}

// SameNetwork returns other files that have the same network name as the conf in force. No runtime
// reads them.
func (t WaitConf) SameNetwork(v host.View, conf CNIConf) (files []string) {
	names, err := v.Files.ReadDir(t.Dir)
	if err != nil {
		return nil
	}
	for _, name := range names {
		file := path.Join(t.Dir, name)
		if other, err := t.readConf(v, file); isConf(name) && file != conf.File && err == nil &&
			other.Name == conf.Name {
			files = append(files, file)
		}
	}
	return files
}

// candidate is the conf that the consumer would use, or the file at which it stops.
type candidate struct {
	name string
	conf CNIConf
	err  error // why this file adds no pod

	before []CNIConf // the confs of meta-plugins before it
	behind string    // if the file is broken: the first valid one after it
	loaded bool      // the file is broken, and the consumer loads it beside the one in force
}

// effective returns the conf that the consumer would use. It takes a conf that another task is
// about to write for valid.
func (t WaitConf) effective(v host.View, confs []string, coming bool) (candidate, bool) {
	var broken candidate
	var before []CNIConf
	for i, name := range confs {
		if coming && name == t.File {
			return candidate{name: name, before: before}, true
		}
		conf, err := t.readConf(v, path.Join(t.Dir, name))
		refused := t.refused(conf)
		if err == nil && len(before) == 0 {
			err = t.passedOver(v, conf)
		}
		switch {
		case err == nil && refused != nil: // the consumer loads this file, and so none after it
			return candidate{name: name, err: refused}, false
		case err == nil && conf.delegates() && t.File != "" && t.File != name:
			before = append(before, conf) // a meta-plugin calls the next conf itself and is meant to be first
		case err == nil:
			if also := t.brokenToo(v, confs[:i], confs[i+1:]); also.err != nil {
				return also, false
			}
			return candidate{name: name, conf: conf, before: before}, true
		case t.FirstOnly || name == t.File:
			return candidate{name: name, err: err, behind: t.firstGood(v, confs[i+1:])}, false
		case broken.name == "":
			broken = candidate{name: name, err: err}
		}
	}
	broken.before = before
	return broken, false
}

// brokenToo returns the first broken file that a consumer loads as a further network, beside the
// one in force. The consumer then has no network at all, or adds no pod to any.
// https://github.com/containerd/go-cni/blob/v1.1.13/opts.go (loadFromConfDir)
func (t WaitConf) brokenToo(v host.View, before, after []string) candidate {
	for i, name := range after {
		conf, err := t.readConf(v, path.Join(t.Dir, name))
		if err = cmp.Or(err, t.refused(conf)); err != nil && len(before)+1+i < t.Consumer.Loads {
			return candidate{name: name, err: err, loaded: true}
		}
	}
	return candidate{}
}

// firstGood returns the first of these files that can add pods.
func (t WaitConf) firstGood(v host.View, confs []string) string {
	for _, name := range confs {
		if conf, err := t.readConf(v, path.Join(t.Dir, name)); err == nil && t.refused(conf) == nil && conf.Of == "" {
			return name
		}
	}
	return ""
}

// unmended is how long a conf may be broken before it is an error: by then its writer has finished.
const unmended = time.Minute

// beingWritten reports whether a file changed so recently that its writer may not have finished,
// and until when that may be so.
func beingWritten(v host.View, file string) (until time.Time, is bool) {
	info, err := v.Files.Lstat(file)
	changed := time.Unix(0, info.Mtime)
	age := time.Since(changed)
	return changed.Add(unmended), err == nil && age >= 0 && age < unmended
}

// waitForConf returns the wait for a missing conf. Its text names the conf that the runtime uses
// meanwhile.
func (t WaitConf) waitForConf(meanwhile candidate, found bool) error {
	const inForce = "; until then %s, which is not %s's, is in force"
	reason := fmt.Sprintf("%s: no %s in %s yet (%s)", t.Network, t.File, t.Dir, t.Writer)
	switch {
	case len(meanwhile.before) > 0: // the meta-plugin's conf says what it calls, which may be no file any more
		reason += fmt.Sprintf(inForce, path.Base(meanwhile.before[0].File), t.Network)
	case found:
		reason += fmt.Sprintf(inForce, meanwhile.name, t.Network)
	case meanwhile.err != nil:
		reason += fmt.Sprintf("; %s is there and adds no pod: %s", path.Join(t.Dir, meanwhile.name), meanwhile.err)
	}
	return graph.Wait(reason)
}

// notForPods returns the wait for a conf of pods while the runtime uses a conf that another program
// made for its own containers. It is an error if the conf of pods is there and comes later.
func (t WaitConf) notForPods(v host.View, first candidate, confs []string) error {
	behind := t.firstGood(v, confs[slices.Index(confs, first.name)+1:])
	if behind == "" {
		return graph.Wait(fmt.Sprintf("%s: no conf in %s yet (%s); until then %s, which is for containers of %s, is in "+
			"force", t.Network, t.Dir, t.Writer, first.name, first.conf.Of))
	}
	return fmt.Errorf("%s is for containers of %s and comes before %s by its name, so the runtime uses it for pods: "+
		"give %[3]s an earlier name", path.Join(t.Dir, first.name), first.conf.Of, behind)
}

// judge returns what is wrong with the file in force.
func (t WaitConf) judge(v host.View, first candidate) error {
	at := path.Join(t.Dir, first.name)
	own := first.name == t.File || t.File == ""
	until, written := beingWritten(v, at)
	switch {
	case first.loaded && written:
		return graph.WaitUntil(fmt.Sprintf("%s: %s is not valid yet: %s", t.Network, at, first.err), until)
	case first.loaded:
		return fmt.Errorf("%s is broken (%w), and no pod gets a network, because the runtime loads several "+
			"files (max_conf_num): repair it or remove it", at, first.err)
	case first.err != nil && first.behind != "" && t.File == "":
		return fmt.Errorf("%s: %s is broken (%w), and the runtime tries no later file, such as %s: repair it or "+
			"remove it", t.Network, at, first.err, first.behind)
	case first.err != nil && own && written:
		return graph.WaitUntil(fmt.Sprintf("%s: %s is not valid yet (%s): %s", t.Network, at, t.Writer, first.err),
			until)
	case first.err != nil && own:
		return fmt.Errorf("%s: no pod is added by %s (%s), which has not changed since: %w: repair it or remove it",
			t.Network, at, t.Writer, first.err)
	case first.err != nil:
		return fmt.Errorf("%s comes before %s and is broken (%w), and the runtime tries no later file: repair it or "+
			"remove it",
			at, t.File, first.err)
	case t.File != "" && first.name != t.File:
		return fmt.Errorf("%s (network %q) comes before %s by its name, so the runtime uses it and not %s: remove it, "+
			"or give it a name without .conf, .conflist and .json",
			at, first.conf.Name, t.File, t.Network)
	}
	return nil
}

// passedOver returns why the consumer skips this conf although it is valid.
// https://github.com/cri-o/ocicni/blob/v0.4.3/pkg/ocicni/ocicni.go (loadNetworks)
func (t WaitConf) passedOver(v host.View, conf CNIConf) error {
	c := t.Consumer
	if c.Network != "" && c.Network != conf.Name {
		return fmt.Errorf("its network is %q, and %s gives pods no other than %q: take cni_default_network out of its "+
			"configuration", conf.Name, c.Name, c.Network)
	}
	if !c.Validates || conf.File == path.Join(t.Dir, t.File) { // of its own conf, WaitConf waits for the plugins
		return nil
	}
	if err := c.refuses(conf.version()); err != nil {
		return err
	}
	listed := slices.DeleteFunc(conf.Programs(), func(p Program) bool { return p.CalledBy != "" })
	if missing, wrong := t.missing(v, listed); len(missing)+len(wrong) > 0 {
		return fmt.Errorf("%s passes over it: it calls the plugin %s, which is no program in %s", c.Name,
			strings.Join(append(missing, wrong...), ", "), strings.Join(t.BinDirs, ", "))
	}
	return nil
}

// missing returns the programs that are not installed, and descriptions of what is in the place of
// a program.
func (t WaitConf) missing(v host.View, programs []Program) (missing, wrong []string) {
	for _, p := range programs {
		if slices.ContainsFunc(t.BinDirs,
			func(dir string) bool { return willExist(v, FileKey(path.Join(dir, p.Name))) }) {
			continue
		}
		switch file, info := FindPlugin(v, t.BinDirs, p.Name); {
		case file == "":
			missing = append(missing, p.Name)
		case info.Type != hostfs.Regular:
			wrong = append(wrong, fmt.Sprintf("%s is a %s, no program", file, info.Type.Noun()))
		case info.Mode&0o111 == 0:
			wrong = append(wrong, fmt.Sprintf("%s is not executable (mode %04o)", file, info.Mode))
		default:
			if err := v.Files.Runnable(file); err != nil {
				wrong = append(wrong, err.Error())
			}
		}
	}
	return missing, wrong
}

// missingPlugins waits for the programs that a conf calls. For a conf older than a minute a missing
// program is an error, because the runtime asks for pods by then.
func (t WaitConf) missingPlugins(v host.View, conf CNIConf) error {
	missing, wrong := t.missing(v, conf.Programs())
	until, written := beingWritten(v, conf.File)
	switch {
	case len(wrong) > 0:
		return fmt.Errorf("%s: no pod is added by %s: %s: `agent verify` says what to do", t.Network, conf.File,
			strings.Join(wrong, ", "))
	case len(missing) == 0:
		return nil
	}
	calls, dirs := strings.Join(missing, ", "), strings.Join(t.BinDirs, ", ")
	if written {
		return graph.WaitUntil(fmt.Sprintf("%s: its conf calls the plugin %s, not in %s yet", t.Network, calls, dirs),
			until)
	}
	return fmt.Errorf("%s: no pod is added by %s: it calls the plugin %s, which is not in %s: install it there, or "+
		"remove the conf", t.Network, conf.File, calls, dirs)
}
