package config

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/networks"
)

// released has the fields that agents of earlier releases know. The manual of commit c5d410c lists
// them.
const released = "testdata/fields-c5d410c.txt"

// Each field that such agents do not know must say so, since they refuse the whole document because
// of it.
func TestNewerFieldsAreMarked(t *testing.T) {
	data, err := os.ReadFile(released)
	if err != nil {
		t.Fatal(err)
	}
	old := strings.Fields(string(data))
	check := func(path string, newer bool) {
		if known := slices.Contains(old, path); known == newer {
			t.Errorf("%s is marked newer: %v, and in %s: %v; a field that is not in it ends with .Newer()", path, newer, released, known)
		}
	}
	for _, kind := range []string{decode.KindCluster, decode.KindNodeGroup, decode.KindNode} {
		for _, f := range DocumentFields(keyKinds, kind) {
			check(f.Path, f.Newer)
		}
	}
	for _, name := range networks.Supported() {
		for _, f := range NetworkFields(name) {
			check("networking."+name+"."+f.Path, f.Newer)
		}
	}
}

// A check of documents says what agents of earlier releases refuse. A node does not say that.
func TestNewerIsSaidToWhoChecks(t *testing.T) {
	const header = "apiVersion: netwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: demo.example.com}\n" +
		"spec:\n  kubernetesVersion: 1.31.2\n  networking: {bridge: {}}\n"
	for spec, want := range map[string]string{
		"  update: {splay: 1m}\n": "",
		"  hooks: [{name: x, enabled: false, manifest: ExecStart=/bin/true}]\n": "",
		"  update: {freeze: true}\n":                                         "the field spec.update.freeze",
		"  followLinks: [/opt/cni]\n":                                        "the field spec.followLinks",
		"  update: {watch: 1m}\n":                                            "the field spec.update.watch",
		"  update: {bootUndo: reboot}\n":                                     "the field spec.update.bootUndo",
		"  hooks: [{name: x, timeout: 1m, manifest: ExecStart=/bin/true}]\n": "the field spec.hooks[0].timeout",
		"  hooks:\n  - {name: y, manifest: ExecStart=/bin/true}\n  - {name: x, enabled: false}\n": "a hook that is off and has no manifest",
	} {
		sources := []document.Source{
			{Path: "cluster.yaml", Data: []byte(header + spec)},
			{Path: "nodes/a.yaml", Data: []byte("apiVersion: netwright.dev/v1alpha1\nkind: Node\nmetadata: {name: a}\nspec: {}\n")},
			{Path: "nodes/b.yaml", Data: []byte("apiVersion: netwright.dev/v1alpha1\nkind: Node\nmetadata: {name: b}\nspec: {}\n")},
		}
		if _, diags := Load(keyKinds, sources, Select{Node: "a"}); len(diags) > 0 {
			t.Errorf("a node is told of\n%s: %s", spec, diags)
		}
		diags := CheckAll(keyKinds, sources)
		switch text := diags.String(); {
		case diags.HasErrors():
			t.Errorf("refused:\n%s%s", spec, text)
		case want == "" && len(diags) > 0, want != "" && len(diags) != 1,
			!strings.Contains(text, want) || want != "" && !strings.Contains(text, "newer than agents of earlier releases"):
			t.Errorf("want %q of\n%s: %s", want, spec, text)
		}
	}
}
