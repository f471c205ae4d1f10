package dryrun

import (
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/netwright/netwright/pkg/tasks"
)

const (
	absent   = "absent"
	right    = "right"
	content  = "wrong content"
	mode     = "wrong mode"
	owner    = "wrong owner"
	wrong    = "wrong type"
	dangling = "dangling link"
	missing  = "missing prerequisite"
)

var fileKinds = []kind{
	{"directory", []string{absent, right, mode, owner, wrong, dangling, "link to a directory", missing, "parent is a file", "parent is a dangling link", "below another"}, directory},
	{"file", []string{absent, right, content, mode, owner, wrong, dangling, "link to a file", "secret content", missing, "parent is a file", "parent is a dangling link", "unknown owner"}, file},
	{"symlink", []string{absent, right, content, wrong, "directory in the way", dangling, missing, "parent is a file"}, symlink},
	{"toml key", []string{absent, right, content, wrong, mode, dangling, "link to a file", missing, "file of ours"}, tomlKey},
	{"unit", []string{absent, right, content, mode, wrong, dangling}, unit},
	{"drop-in", []string{absent, right, content, mode, wrong, dangling}, dropIn},
	{"unit state", []string{"no systemd"}, func(w *world, _ string) []tasks.Task {
		return []tasks.Task{tasks.UnitState{Meta: meta(), Name: w.name("u") + ".service", Enabled: new(true), Active: new(true)}}
	}},
	{"mount", []string{"no systemd", "somebody else's"}, mountUnit},
	{"module", []string{"not loaded", "unknown"}, func(w *world, state string) []tasks.Task {
		name := map[string]string{"not loaded": "dummy", "unknown": "no_such_module"}[state]
		return []tasks.Task{tasks.Module{Meta: tasks.Meta{From: "state"}, Name: fmt.Sprintf("%s%d", name, w.n)}}
	}},
	{"effect", []string{"asked", "not asked"}, effect},
}

// name returns a name that only this case uses.
func (w *world) name(prefix string) string { return fmt.Sprintf("%s%d", prefix, w.n) }

func (w *world) path() string { return "/srv/host/" + w.name("case-") + "/thing" }

// parent makes the directory for a path, or what is in its place.
func (w *world) parent(at, state string) {
	dir := path.Dir(at)
	switch state {
	case missing, "unknown parents":
	case "parent is a file":
		w.must(os.WriteFile(dir, nil, 0o600))
	case "parent is a dangling link":
		w.must(os.Symlink("/srv/host/nowhere", dir))
	default:
		w.must(os.MkdirAll(dir, 0o755))
	}
}

// put makes a file that is wrong in one way. For a state that it does not know the file is right.
func (w *world) put(at, text, state string, perm os.FileMode) {
	switch state {
	case absent, missing, "parent is a file", "parent is a dangling link":
		return
	case wrong:
		w.must(os.Mkdir(at, 0o755))
		return
	case dangling:
		w.must(os.Symlink("/srv/host/nowhere", at))
		return
	case "link to a file":
		w.must(os.WriteFile(at+".real", []byte(text), perm))
		w.must(os.Symlink(path.Base(at)+".real", at))
		return
	case content, "secret content":
		text = "was " + text
	case mode:
		perm ^= 0o040
	}
	w.must(os.WriteFile(at, []byte(text), perm))
	w.must(os.Chmod(at, perm))
	if state == owner {
		w.must(os.Chown(at, 1+w.IntN(9), w.IntN(9)))
	}
}

func directory(w *world, state string) []tasks.Task {
	at := w.path()
	w.parent(at, state)
	t := tasks.Directory{Meta: meta(), Path: at, Mode: 0o750}
	switch state {
	case right, mode, owner:
		w.must(os.Mkdir(at, 0o750))
		if state == mode {
			w.must(os.Chmod(at, 0o705))
		}
		if state == owner {
			w.must(os.Chown(at, 3, 4))
		}
	case wrong:
		w.must(os.WriteFile(at, nil, 0o644))
	case dangling:
		w.must(os.Symlink("nowhere", at))
	case "link to a directory":
		w.must(os.Mkdir(at+".real", 0o750))
		w.must(os.Symlink("thing.real", at))
	case "below another":
		below := tasks.Directory{Meta: meta(), Path: at + "/a/b", Mode: 0o1777, Owner: "daemon:daemon"}
		return []tasks.Task{t, below, tasks.File{Meta: meta(), Path: at + "/a/b/c", Content: []byte("c"), Mode: 0o600}}
	}
	return []tasks.Task{t}
}

func file(w *world, state string) []tasks.Task {
	at := w.path()
	w.parent(at, state)
	text := strings.Repeat("line\n", 1+w.IntN(5000))
	t := tasks.File{Meta: meta(), Path: at, Content: []byte(text), Mode: 0o640}
	t.Secret = state == "secret content"
	w.put(at, text, state, 0o640)
	switch state {
	case missing: // two files that would make the same directories
		t.Path = path.Dir(at) + "/deep/er/thing"
		return []tasks.Task{t, tasks.File{Meta: meta(), Path: path.Dir(at) + "/deep/er/other", Mode: 0o600}}
	case "unknown owner":
		t.Owner = "nobody-knows-me"
	}
	return []tasks.Task{t}
}

func symlink(w *world, state string) []tasks.Task {
	at := w.path()
	w.parent(at, state)
	t := tasks.SymbolicLink{Meta: meta(), Path: at, Target: "/srv/host/target"}
	switch state {
	case right:
		w.must(os.Symlink(t.Target, at))
	case content, dangling:
		w.must(os.Symlink("/srv/host/nowhere", at))
	case wrong:
		w.must(os.WriteFile(at, nil, 0o644))
	case "directory in the way":
		w.must(os.Mkdir(at, 0o755))
	}
	return []tasks.Task{t}
}

func tomlKey(w *world, state string) []tasks.Task {
	at := w.path() + ".toml"
	w.parent(at, state)
	t := tasks.TOMLKey{Meta: meta(), Path: at, Table: []string{"plugins", "cni"}, Key: "conf_dir", Value: "/etc/cni"}
	text := map[string]string{
		absent:  "version = 2\n[plugins]\n[plugins.cni] # ours\nbin_dir = 'x'\n",
		content: "[plugins.cni]\nconf_dir = \"/elsewhere\" # why\n",
		wrong:   "[plugins.cni]\nconf_dir = {a = 1}\n",
	}[state]
	if text == "" {
		text = "[plugins.cni]\nconf_dir = \"/etc/cni\"\n"
	}
	switch state {
	case dangling:
		w.put(at, text, dangling, 0o600)
	case "link to a file":
		w.put(at, "[plugins.cni]\n", state, 0o600)
	case missing:
	case "file of ours":
		return []tasks.Task{t, tasks.File{Meta: meta(), Path: at, Content: []byte(text), Mode: 0o644}}
	default:
		w.must(os.WriteFile(at, []byte(text), 0o600))
		if state == absent {
			second := t
			second.Key, second.Value = "max_conf_num", int64(1)
			return []tasks.Task{t, second}
		}
	}
	return []tasks.Task{t}
}

func unit(w *world, state string) []tasks.Task {
	name := w.name("unit") + ".service"
	text := "[Service]\nExecStart=true\n"
	w.must(os.MkdirAll("/etc/systemd/system", 0o755))
	w.put("/etc/systemd/system/"+name, text, state, 0o644)
	return []tasks.Task{tasks.Unit{Meta: meta(), Name: name, Content: []byte(text)}}
}

func dropIn(w *world, state string) []tasks.Task {
	name := w.name("dropped") + ".service"
	text := "[Service]\nNice=1\n"
	at := "/etc/systemd/system/" + name + ".d/50-netwright.conf"
	if state != absent {
		w.must(os.MkdirAll(path.Dir(at), 0o755))
	}
	w.put(at, text, state, 0o644)
	return []tasks.Task{tasks.DropIn{Meta: meta(), Unit: name, Name: path.Base(at), Content: []byte(text)}}
}

func mountUnit(w *world, state string) []tasks.Task {
	at := "/srv/" + w.name("mnt")
	if state == "somebody else's" {
		w.must(os.Mkdir(at, 0o755))
		w.sh("mount -t tmpfs none %s", at)
	}
	return []tasks.Task{tasks.Mount{Meta: meta(), What: "tmpfs", Where: at, Type: "tmpfs"}}
}

func effect(w *world, state string) []tasks.Task {
	name := w.name("svc") + ".service"
	e := tasks.Effect{Meta: meta(), Action: tasks.ActionRestart, Unit: name}
	at := w.path()
	w.parent(at, "")
	if state == "not asked" {
		w.must(os.WriteFile(at, nil, 0o600))
	}
	return []tasks.Task{e, tasks.File{Meta: meta(tasks.Restart(name)), Path: at, Mode: 0o600}}
}
