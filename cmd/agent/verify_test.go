package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/verify"
)

// The name of a file does not begin a line of its own.
func TestVerifiedLines(t *testing.T) {
	v := verified{Node: "node-1", Checks: []verify.Result{{Check: "conf", Seen: "/etc/cni/net.d/a\n✓ conf", Next: "rm a\n✓"}}}
	var out strings.Builder
	if err := v.write(&out); err != nil || strings.Contains(out.String(), "\n✓") {
		t.Errorf("write prints %q, %v", out.String(), err)
	}
}

// An image has no kernel and no runtime. verify looks at its files, and starts none of its
// programs.
func TestVerifyImage(t *testing.T) {
	root, store := t.TempDir(), t.TempDir() // a checkout may belong to any user
	if err := os.CopyFS(store, os.DirFS("../../examples/flannel")); err != nil {
		t.Fatal(err)
	}
	put := func(name, text string, mode os.FileMode) {
		t.Helper()
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(want cli.Exit) verified {
		t.Helper()
		var out, errs strings.Builder
		code := run(t.Context(), []string{"verify", "--root", root, "--store", store, "--node", "node-1", "-o", "json"}, cli.Output{Out: &out, Err: &errs})
		if code != want {
			t.Errorf("exit code %d, want %d\n%s%s", code, want, out.String(), errs.String())
		}
		var v verified
		if err := json.Unmarshal([]byte(out.String()), &v); err != nil {
			t.Fatal(err, errs.String())
		}
		return v
	}
	if v := ask(cli.ExitWaiting); v.State != verify.Waiting || v.Network != "flannel" || v.Node != "node-1" {
		t.Errorf("an empty image: %+v", v)
	}
	put("etc/cni/net.d/10-flannel.conflist", `{"cniVersion":"0.3.1","name":"cbr0","plugins":[{"type":"flannel"},{"type":"portmap"}]}`, 0o644)
	put("run/flannel/subnet.env", "", 0o644)
	for _, name := range []string{"flannel", "bridge", "host-local", "portmap"} {
		put("opt/cni/bin/"+name, "#!/bin/sh\ntouch "+root+"/started\n", 0o755)
	}
	if v := ask(cli.ExitOK); v.State != verify.OK {
		t.Errorf("all is there: %+v", v)
	}
	put("etc/cni/net.d/00-old.conf", `{"name":"old","type":"ptp"}`, 0o644)
	if v := ask(cli.ExitError); v.State != verify.Failed || !strings.Contains(v.Checks[0].Seen, "00-old.conf") {
		t.Errorf("a conf that wins by its name: %+v", v)
	}
	if _, err := os.Stat(filepath.Join(root, "started")); err == nil {
		t.Error("a program of the image was started")
	}
}

// The documents' MTU is compared with the conf of each network whose own program writes it. The
// lines that keep it: cmd/agent/verify.go, checked host; pkg/model/network/mtu.go, ConfMTU.
func TestVerifyTheConfsMTU(t *testing.T) {
	for name, kubernetes := range map[string]string{"calico": "1.33.0", "canal": "1.27.0"} {
		root, store := t.TempDir(), t.TempDir()
		for file, text := range map[string]string{
			filepath.Join(store, "c", "cluster.yaml"): "apiVersion: netwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: c}\nspec:\n" +
				"  kubernetesVersion: " + kubernetes + "\n  networking:\n    " + name + ": {mtu: 1350}\n",
			filepath.Join(root, "etc/cni/net.d/10-"+name+".conflist"): `{"cniVersion":"0.3.1","name":"k8s-pod-network","plugins":[{"type":"calico","mtu":1440}]}`,
		} {
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		var out, errs strings.Builder
		run(t.Context(), []string{"verify", "--root", root, "--store", store, "--cluster", "c", "--node", "node-1", "-o", "json"}, cli.Output{Out: &out, Err: &errs})
		if !strings.Contains(out.String(), "pods get links of 1440 bytes, and the documents have an mtu of 1350") {
			t.Errorf("%s: %s%s", name, out.String(), errs.String())
		}
	}
}
