package model

import (
	"slices"
	"testing"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/extras"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/secret"
	"github.com/netwright/netwright/pkg/tasks"
)

// The files that a hook reads are there when the hook starts: the files that its text names, those
// below a directory that it names, and its drop-in files. If the agent does not know the unit's
// text, any file may be among them. The lines that keep it: user_hooks.go, readBy.
func TestHooksComeAfterWhatTheyRead(t *testing.T) {
	files := []string{"/etc/motd", "/srv/lab/run", "/srv/lab.d/10-a", "/srv/lab.d/more/b", "/etc/systemd/system/own.service.d/x.conf", "/etc/own.conf"}
	in := of(t, "{bridge: {}}", func(_ *host.Facts, n *config.Node) {
		for _, path := range files {
			n.FileAssets = append(n.FileAssets, extras.FileAsset{Path: path, Mode: 0o644})
		}
		n.Hooks = []extras.Hook{
			{Name: "own.service", Enabled: true, Manifest: secret.New("ExecStart=/srv/lab/run --with=/srv/lab.d/")},
			{Name: "theirs.service", Enabled: true},
			{Name: "off.service"},
		}
	})
	list, _, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	g, err := graph.New(list, tasks.AsNodes{}, graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	needs := func(key graph.Key, file string) bool {
		t.Helper()
		task, ok := g.Find(key)
		if !ok {
			t.Fatalf("there is no %s", key)
		}
		return slices.Contains(tasks.NeedsOf(task), tasks.FileKey(file))
	}
	for unit, want := range map[string][]string{
		"own.service": files[1:5], "theirs.service": files, "off.service": nil,
	} {
		for _, file := range files {
			if got := needs(graph.MakeKey(tasks.KindUnit, unit), file); got != slices.Contains(want, file) {
				t.Errorf("%s needs %s: %v", unit, file, got)
			}
		}
	}
	for _, file := range files[1:5] { // a restart from the new text comes after it
		if !needs(tasks.UnitFileKey("own.service"), file) {
			t.Errorf("the unit's file does not need %s", file)
		}
	}
}

// Every hook can be enabled, also a whole unit as kOps' documentation has it, whose text does not
// say what wants it. The line that keeps it: user_hooks.go, hookUnit.
func TestEveryHookIsWantedByABoot(t *testing.T) {
	const raw = "[Unit]\nBefore=kubelet.service\n[Service]\nEnvironmentFile=/etc/environment"
	for _, c := range []struct{ manifest, want string }{
		{raw, raw + "\n\n[Install]\nWantedBy=multi-user.target\n"},
		{raw + "\nExecStart=/bin/a \\\n", raw + "\nExecStart=/bin/a \\\n\n[Install]\nWantedBy=multi-user.target\n"},
		{raw + "\n[Install]\nRequiredBy=kubelet.service\n", raw + "\n[Install]\nRequiredBy=kubelet.service\n"},
		{raw + "\n[Install]\nAlias=other.service\n", raw + "\n[Install]\nAlias=other.service\n"},
	} {
		h := extras.Hook{Name: "raw.service", Enabled: true, UseRawManifest: true, Manifest: secret.New(c.manifest)}
		if got := hookUnit(h); got != c.want {
			t.Errorf("of %q comes %q, want %q", c.manifest, got, c.want)
		}
	}
}
