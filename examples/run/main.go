// Command run is `make run`. It builds the CNI plugins as an asset, adds the asset with its sha256
// to a copy of an example's store, and runs the agent for one node of it in a sandbox.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

func main() {
	agent := flag.String("agent", "bin/agent", "the agent's binary")
	example := flag.String("example", "examples/bridge", "the store to run")
	cluster := flag.String("cluster", "demo.example.com", "its cluster")
	node := flag.String("node", "node-1", "the node to be")
	cache := flag.String("cache", ".cache/run", "where the assets and the store's copy go")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, *agent, *example, *cluster, *node, *cache)
	var exited *exec.ExitError
	if errors.As(err, &exited) && os.Geteuid() != 0 {
		fmt.Println("\nTo see it done, run it as root: sudo make run")
		return // an ordinary user has seen all that is possible
	}
	if errors.As(err, &exited) {
		stop()
		os.Exit(exited.ExitCode()) // stop was called before
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "run:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, agent, example, cluster, node, cache string) error {
	archive, sum, err := plugins(ctx, filepath.Join(cache, "assets"))
	if err != nil {
		return err
	}
	store := filepath.Join(cache, "store")
	if err := copyStore(example, store, cluster, archive, sum); err != nil {
		return fmt.Errorf("copy the store: %w", err)
	}
	cmd := exec.CommandContext(ctx, agent, "--store", store, "--cluster", cluster, "--node", node, "--once", "--sandbox")
	fmt.Printf("$ %s\n\n", strings.Join(cmd.Args, " "))
	err = stream(cmd)
	var exited *exec.ExitError
	if os.Geteuid() != 0 && errors.As(err, &exited) {
		fmt.Println("\nThe plan is as far as an ordinary user gets: `sudo make run` shows the rest.")
		return nil
	}
	return err
}

// plugins builds the CNI plugins from the module proxy once, and returns the archive with its
// sha256.
func plugins(ctx context.Context, dir string) (archive, sum string, err error) {
	find := func() []string {
		found, _ := filepath.Glob(filepath.Join(dir, "cni-plugins-linux-"+runtime.GOARCH+"-*.tgz.sha256"))
		return found
	}
	if len(find()) != 1 {
		fmt.Println("building the CNI plugins (containernetworking/plugins, pinned in examples/assets/go.mod) …")
		cmd := exec.CommandContext(ctx, "go", "run", ".", "-o", abs(dir))
		cmd.Dir = "examples/assets"
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
		if err := stream(cmd); err != nil {
			return "", "", fmt.Errorf("build the CNI plugins: %w", err)
		}
	}
	found := find()
	if len(found) != 1 {
		return "", "", fmt.Errorf("%s holds %d archives of CNI plugins, expected one: remove it and run again", dir, len(found))
	}
	line, err := os.ReadFile(found[0])
	if err != nil {
		return "", "", fmt.Errorf("read the archive's sha256: %w", err)
	}
	sum, _, _ = strings.Cut(strings.TrimSpace(string(line)), " ")
	return strings.TrimSuffix(found[0], ".sha256"), sum, nil
}

func stream(cmd *exec.Cmd) error {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}

// copyStore copies an example, and adds the asset to its cluster document.
func copyStore(example, store, cluster, archive, sum string) error {
	if err := os.RemoveAll(store); err != nil {
		return err
	}
	if err := os.CopyFS(store, os.DirFS(example)); err != nil {
		return err
	}
	assets := filepath.Join(store, cluster, "assets")
	if err := os.MkdirAll(assets, 0o755); err != nil {
		return err
	}
	name := filepath.Base(archive)
	if err := os.Link(archive, filepath.Join(assets, name)); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	doc := filepath.Join(store, cluster, "cluster.yaml")
	f, err := os.OpenFile(doc, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "  assets: # built by make run\n  - name: cni-plugins\n    arch:\n      %s:\n        sha256: %s\n        urls: [assets/%s]\n", runtime.GOARCH, sum, name)
	return errors.Join(err, f.Close())
}

func abs(path string) string {
	full, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	return full
}
