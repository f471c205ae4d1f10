//go:build ignore

// Command nodejob does the node job with kOps' own tasks and executor, as its nodeup runs them. It
// is built within a checkout of kOps, which the user provides: see ../README.md. Like kOps it does
// not repair a sysctl with a wrong value if its file is right.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"

	"k8s.io/kops/pkg/apis/nodeup"
	"k8s.io/kops/upup/pkg/fi"
	"k8s.io/kops/upup/pkg/fi/nodeup/local"
	"k8s.io/kops/upup/pkg/fi/nodeup/nodetasks"
)

// job is the content of job.json.
type job struct {
	Archive struct {
		URL, SHA256, Dir string
		Members          []struct{ Name string }
	}
	Files []struct{ Path, Mode, Content string }
	// Service is the unit to enable and start. Its file is one of Files.
	Service string
}

const cache = "/var/cache/nodeup"

func main() {
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "nodejob:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var j job
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	assets := fi.NewAssetStore(cache)
	if err := assets.Add(ctx, j.Archive.SHA256+"@"+j.Archive.URL); err != nil {
		return err
	}
	tasks := map[string]fi.NodeupTask{}
	add := func(name, mode string, content fi.Resource, then ...[]string) {
		tasks["File/"+name] = &nodetasks.File{Path: name, Mode: &mode, Contents: content, Type: nodetasks.FileType_File, OnChangeExecute: then}
	}
	for _, m := range j.Archive.Members {
		member, err := assets.Find(m.Name, "")
		if err != nil || member == nil {
			return fmt.Errorf("%s is not in the archive: %v", m.Name, err)
		}
		add(path.Join(j.Archive.Dir, m.Name), "0755", member)
	}
	for _, f := range j.Files {
		switch content := fi.NewStringResource(f.Content); {
		case path.Base(f.Path) == j.Service:
			unit, yes := f.Content, true
			tasks["Service/"+j.Service] = (&nodetasks.Service{Name: j.Service, Definition: &unit, Running: &yes}).InitDefaults()
			add(f.Path, f.Mode, content) // kOps writes the unit below /lib, and the job also wants it in /etc
		case path.Dir(f.Path) == "/etc/sysctl.d":
			add(f.Path, f.Mode, content, []string{"sysctl", "-q", "-p", f.Path})
		default:
			add(f.Path, f.Mode, content)
		}
	}
	target := &local.LocalTarget{CacheDir: cache}
	c, err := fi.NewNodeupContext(ctx, target, nil, &nodeup.BootConfig{}, &nodeup.Config{}, tasks)
	if err != nil {
		return err
	}
	var options fi.RunTasksOptions
	options.InitDefaults()
	if err := c.RunTasks(options); err != nil {
		return err
	}
	return target.Finish(tasks)
}
