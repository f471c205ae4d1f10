package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/netwright/netwright/test/needs"
)

var update = flag.Bool("update", false, "rewrite the files in testdata that a script compares with")

// asUser is the environment variable with the user id that the agent of a script takes.
const asUser = "TEST_UID"

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"agent": func() {
		if uid, err := strconv.Atoi(os.Getenv(asUser)); err == nil {
			if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(uid), syscall.Setuid(uid)); err != nil {
				fmt.Fprintln(os.Stderr, "become an ordinary user:", err)
				os.Exit(99)
			}
		}
		main()
	}})
}

// TestScripts runs the scripts that any user may run.
func TestScripts(t *testing.T) { testscript.Run(t, params("testdata/user")) }

// TestScriptsAsRoot runs the scripts that converge trees, become other users, and make sandboxes.
func TestScriptsAsRoot(t *testing.T) {
	needs.Root(t)
	testscript.Run(t, params("testdata/root"))
}

func params(dir string) testscript.Params {
	return testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup:               setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":     exits,
			"snapshot":  snapshot,
			"unchanged": unchanged,
			"access":    checkAccess,
			"await":     await,
			"jsonkeys":  jsonkeys,
			"keypair":   keypair,
			"sameyaml":  sameyaml,
		},
	}
}

// setup gives each script a store of one cluster, with the network bridge and the assets that it
// names. The script's own files take precedence. A store of the script with the line $ASSETS gets
// the same assets.
func setup(env *testscript.Env) error {
	for _, dir := range []string{env.WorkDir, filepath.Dir(env.WorkDir)} { // for scripts that become another user
		if err := os.Chmod(dir, 0o755); err != nil {
			return err
		}
	}
	cluster, example := filepath.Join(env.WorkDir, "store", "demo.example.com"), filepath.Join("..", "..", "examples", "bridge", "demo.example.com")
	for _, name := range []string{"cluster.yaml", "nodegroups/nodes.yaml", "nodes/node-1.yaml", "nodes/node-2.yaml"} {
		content, err := os.ReadFile(filepath.Join(example, name))
		if name == "cluster.yaml" {
			content = append(content, "$ASSETS\n"...)
		}
		path := filepath.Join(cluster, name)
		if _, missing := os.Lstat(path); missing != nil {
			err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o644))
		}
		if err != nil {
			return err
		}
	}
	return filepath.WalkDir(env.WorkDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "cluster.yaml" {
			return err
		}
		return putAssets(path)
	})
}

// putAssets puts the assets beside a cluster's document that names them.
func putAssets(document string) error {
	content, err := os.ReadFile(document)
	if err != nil || !bytes.Contains(content, []byte("$ASSETS")) {
		return err
	}
	archive, dir := plugins(), filepath.Join(filepath.Dir(document), "assets")
	text := fmt.Sprintf("  assets:\n  - name: cni-plugins\n    arch:\n      amd64: {sha256: %[1]x, urls: [assets/plugins.tgz]}\n"+
		"      arm64: {sha256: %[1]x, urls: [assets/plugins.tgz]}", sha256.Sum256(archive))
	return errors.Join(
		os.WriteFile(document, bytes.Replace(content, []byte("$ASSETS"), []byte(text), 1), 0o644),
		os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "plugins.tgz"), archive, 0o644))
}

// plugins returns an archive that looks like the one of the CNI plugins. Its bytes are the same
// each time.
func plugins() []byte {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	archive := tar.NewWriter(zip)
	for _, name := range []string{"bandwidth", "bridge", "dhcp", "host-local", "loopback", "portmap", "ptp"} {
		body := "#!/bin/sh\n# stands for " + name + "\n"
		err := archive.WriteHeader(&tar.Header{Name: "./" + name, Mode: 0o755, Size: int64(len(body)), Typeflag: tar.TypeReg})
		if err == nil {
			_, err = archive.Write([]byte(body))
		}
		if err != nil {
			panic(err)
		}
	}
	if err := errors.Join(archive.Close(), zip.Close()); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// exits runs a program that must end with an exit code: exits 2 agent --dry-run.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exited *exec.ExitError
	if errors.As(err, &exited) {
		got = exited.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// snapshot records all metadata and content of each path below a directory: snapshot NAME DIR.
func snapshot(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: snapshot NAME DIR")
	}
	ts.Setenv("snapshot_"+args[0], look(ts, ts.MkAbs(args[1])))
}

// unchanged compares with a snapshot: unchanged NAME DIR.
func unchanged(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: unchanged NAME DIR")
	}
	before, now := ts.Getenv("snapshot_"+args[0]), look(ts, ts.MkAbs(args[1]))
	if (before == now) == neg {
		ts.Fatalf("before:\n%s\nnow:\n%s", before, now)
	}
}

func look(ts *testscript.TestScript, dir string) string {
	var b strings.Builder
	ts.Check(filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st syscall.Stat_t
		if err := syscall.Lstat(path, &st); err != nil {
			return err
		}
		_, err = fmt.Fprintf(&b, "%s %o %d:%d inode %d size %d mtime %d ctime %d\n", path, st.Mode, st.Uid, st.Gid, st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano())
		return err
	}))
	return b.String()
}

// checkAccess checks mode and owner of paths: access 0644 0:0 FILE...
func checkAccess(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: access MODE UID:GID FILE...")
	}
	for _, path := range args[2:] {
		var st syscall.Stat_t
		ts.Check(syscall.Lstat(ts.MkAbs(path), &st))
		if got := fmt.Sprintf("%04o %d:%d", st.Mode&0o7777, st.Uid, st.Gid); got != args[0]+" "+args[1] {
			ts.Fatalf("%s is %s, want %s %s", path, got, args[0], args[1])
		}
	}
}

// await waits for a file of another process, and for a text in it: await FILE [TEXT].
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: await FILE [TEXT]")
	}
	for range 1200 { // only so that a broken test ends
		if _, err := os.Lstat(ts.MkAbs(args[0])); err == nil && (len(args) == 1 || strings.Contains(ts.ReadFile(args[0]), args[1])) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("%s did not appear", strings.Join(args, ": "))
}

// jsonkeys prints the paths of all keys in a JSON file, sorted: jsonkeys FILE. Lists are [].
func jsonkeys(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: jsonkeys FILE")
	}
	var doc any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &doc))
	paths := map[string]bool{}
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, value := range v {
				paths[at+"."+key] = true
				walk(at+"."+key, value)
			}
		case []any:
			for _, value := range v {
				walk(at+"[]", value)
			}
		}
	}
	walk("", doc)
	fmt.Fprintln(ts.Stdout(), strings.Join(slices.Sorted(maps.Keys(paths)), "\n"))
}

// sameyaml checks that a YAML file has the same content as a JSON file, without any null: sameyaml
// JSON YAML.
func sameyaml(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sameyaml JSON YAML")
	}
	var want, got any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &want))
	var read any
	ts.Check(yaml.Unmarshal([]byte(ts.ReadFile(args[1])), &read))
	again, err := json.Marshal(read) // numbers as JSON has them
	ts.Check(err)
	ts.Check(json.Unmarshal(again, &got))
	if diff := cmp.Diff(want, got); diff != "" {
		ts.Fatalf("JSON and YAML differ:\n%s", diff)
	}
	noNulls(ts, "", want)
}

// unknowable has the facts of an image that may be null. Here null means that the fact is not
// known, and not that there is none.
var unknowable = []string{".links", ".forwardPolicy", ".kernel.hugepages"}

// noNulls checks in what programs read that an empty list is [], so that they can loop over it.
func noNulls(ts *testscript.TestScript, at string, v any) {
	switch v := v.(type) {
	case nil:
		if !slices.Contains(unknowable, at) {
			ts.Fatalf("%s is null: what has nothing in it is [], {} or left out", at)
		}
	case map[string]any:
		for key, value := range v {
			noNulls(ts, at+"."+key, value)
		}
	case []any:
		for _, value := range v {
			noNulls(ts, at+"[]", value)
		}
	}
}
