// Command changed prints the Go packages with files that differ from a commit, one path a line, for
// `make quick`. A file of testdata counts for the package that it lies below. Packages below test/
// and bench/ boot nodes or measure, and are left out.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: changed REPOSITORY COMMIT")
		os.Exit(2)
	}
	packages, err := changed(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "changed:", err)
		os.Exit(1)
	}
	for _, dir := range packages {
		fmt.Println("./" + dir)
	}
}

// changed returns the directories, relative to root and sorted, of the packages of cmd and pkg
// whose files differ from the commit, or that git does not track yet.
func changed(root, commit string) ([]string, error) {
	var files []string
	for _, args := range [][]string{{"diff", "--name-only", commit, "--"}, {"ls-files", "--others", "--exclude-standard"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Stderr = root, os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
		}
		files = append(files, strings.Fields(string(out))...)
	}
	var dirs []string
	for _, file := range files {
		if !strings.HasPrefix(file, "pkg/") && !strings.HasPrefix(file, "cmd/") {
			continue
		}
		if dir := packageOf(root, path.Dir(file)); dir != "" {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs), nil
}

// packageOf returns the nearest directory from dir upwards that has Go files, and "" where none
// has.
func packageOf(root, dir string) string {
	for ; dir != "."; dir = path.Dir(dir) {
		if found, err := filepath.Glob(filepath.Join(root, dir, "*.go")); err == nil && len(found) > 0 {
			return dir
		}
	}
	return ""
}
