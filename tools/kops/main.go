// Command kops makes state stores of what kOps' own code wrote, and says how many of them the agent
// reads. It needs a checkout of kOps, which the person brings: nothing of kOps is kept here.
//
// kOps' integration tests create and update clusters with clouds that are no more than memory, and
// keep what they wrote below tests/integration: the documents of a user, the completed cluster, the
// nodeupconfig of each group. kOps writes them anew, for clusters of one's own too (another
// in-v1alpha2.yaml in a copy of a test's directory), with
//
//	HACK_UPDATE_EXPECTED_IN_PLACE=1 go test ./cmd/kops -run 'TestMinimal|TestKindnet' -count 1
//
// and then
//
//	go run -C tools ./kops -agent ../bin/agent ~/kops /tmp/stores
//
// puts each together as kOps' state store has it, and runs `agent store check` on it. Exit code 0:
// all were read.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	agent := flag.String("agent", "", "the agent that checks the stores; without it they are made only")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "kops [-agent PROGRAM] CHECKOUT DIR: makes stores of kOps' golden clusters below DIR, and checks them")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 2 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	refused, err := run(ctx, flag.Arg(0), flag.Arg(1), *agent, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "kops:", err)
	}
	if err != nil || refused > 0 {
		os.Exit(1)
	}
}

// sets are where kOps keeps clusters: what `kops create cluster` wrote, what a user writes, and
// documents of other versions.
var sets = []string{"create_cluster", "update_cluster", "conversion"}

// run makes the stores and has them checked, and returns how many are refused.
func run(ctx context.Context, checkout, dir, agent string, out io.Writer) (refused int, err error) {
	for _, set := range sets {
		stores, err := makeStores(filepath.Join(checkout, "tests/integration", set), filepath.Join(dir, set))
		if err != nil {
			return refused, err
		}
		bad := 0
		for _, store := range stores {
			if agent == "" {
				break
			}
			if said, err := exec.CommandContext(ctx, agent, "store", "check", store).CombinedOutput(); err != nil {
				bad++
				fmt.Fprintf(out, "%s: %v\n%s", store, err, said)
			}
		}
		fmt.Fprintf(out, "%s: %d stores, %d refused\n", set, len(stores), bad)
		refused += bad
	}
	return refused, nil
}

// makeStores makes a store of each file with a cluster in it below from, in a directory of its own,
// and returns their directories.
func makeStores(from, to string) (stores []string, err error) {
	err = filepath.WalkDir(from, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read a golden file: %w", err)
		}
		c := clusterOf(text)
		if c.name == "" {
			return nil
		}
		name, err := filepath.Rel(from, strings.TrimSuffix(file, ".yaml"))
		if err != nil {
			return fmt.Errorf("name the store of %s: %w", file, err)
		}
		store := filepath.Join(to, strings.ReplaceAll(name, string(filepath.Separator), "-"))
		stores = append(stores, store)
		if err := c.completed(filepath.Join(filepath.Dir(file), "data")); err != nil {
			return err
		}
		return c.write(filepath.Join(store, c.name))
	})
	if err != nil {
		return nil, fmt.Errorf("make stores of %s: %w", from, err)
	}
	return stores, nil
}

// cluster is a cluster as its store has it: the contents of its files.
type cluster struct {
	name  string
	roles map[string]string // by group
	files map[string][]byte
}

var (
	between  = regexp.MustCompile(`(?m)^---[ \t]*\n`)
	kindLine = regexp.MustCompile(`(?m)^kind: *(\w+)`)
	nameLine = regexp.MustCompile(`(?ms)^metadata:\n.*?^  name: *"?([^"\s]+)`)
	roleLine = regexp.MustCompile(`(?m)^  role: *(\w+)`)
)

// clusterOf takes the documents of one file apart. Of a file without a cluster the name is "".
func clusterOf(text []byte) cluster {
	c := cluster{roles: map[string]string{}, files: map[string][]byte{}}
	for _, doc := range between.Split(string(text), -1) {
		switch kind, name := group(kindLine, doc), group(nameLine, doc); kind {
		case "Cluster":
			c.name, c.files["config"] = name, []byte(doc)
		case "InstanceGroup":
			c.roles[name], c.files["instancegroup/"+name] = group(roleLine, doc), []byte(doc)
		}
	}
	return c
}

func group(pattern *regexp.Regexp, text string) string {
	if found := pattern.FindStringSubmatch(text); found != nil {
		return found[1]
	}
	return ""
}

// roleDirs are what kOps calls the directory of a role's nodeupconfigs.
var roleDirs = map[string]string{"Node": "node", "Master": "control-plane", "ControlPlane": "control-plane", "APIServer": "apiserver", "Bastion": "bastion"}

// completed adds what `kops update cluster` wrote besides, where its test keeps that.
func (c *cluster) completed(data string) error {
	entries, err := os.ReadDir(data)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list what an update wrote: %w", err)
	}
	for _, entry := range entries {
		at := ""
		for name, role := range c.roles {
			if strings.HasSuffix(entry.Name(), "_nodeupconfig-"+name+"_content") || strings.HasSuffix(entry.Name(), "object_nodeupconfig-"+name+"_content") {
				at = "igconfig/" + roleDirs[role] + "/" + name + "/nodeupconfig.yaml"
			}
		}
		switch {
		case strings.HasSuffix(entry.Name(), "cluster-completed.spec_content"):
			at = "cluster-completed.spec"
		case strings.HasSuffix(entry.Name(), "kops-version.txt_content"):
			at = "kops-version.txt"
		}
		if at == "" {
			continue
		}
		if c.files[at], err = os.ReadFile(filepath.Join(data, entry.Name())); err != nil {
			return fmt.Errorf("read what an update wrote: %w", err)
		}
	}
	return nil
}

// write puts the files below a directory, which must not be there.
func (c *cluster) write(dir string) error {
	if _, err := os.Lstat(dir); err == nil {
		return fmt.Errorf("%s is there already: name a directory that is empty", dir)
	}
	names := make([]string, 0, len(c.files))
	for name := range c.files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return fmt.Errorf("write a store: %w", err)
		}
		if err := os.WriteFile(file, bytes.TrimLeft(c.files[name], "\n"), 0o644); err != nil {
			return fmt.Errorf("write a store: %w", err)
		}
	}
	return nil
}
