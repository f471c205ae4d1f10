package main

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/install"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/systemd"
)

func installCommand(f *cli.Flags) *cobra.Command {
	var i install.Installation
	binary, dryRun, remove := "", false, false
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Put the agent and its units onto this host or an image",
		Long: `install copies this program to ` + systemd.Program + `, and links it as ` + "`agent`" + ` unless something
else has that name. It writes the units to /etc/systemd/system, and the manual and the
completions for bash, zsh and fish below share. It enables the units and asks systemd
to start the daemon, without waiting. It restarts a running daemon if something changed.
It leaves alone what is right, so you can run it at every boot. At the end it names the
next step: you write the configuration (` + defaultConf + `).
It prints a summary, the notes and the next step. -o json and --dry-run list each file.

If /usr is read-only or mounted noexec, the program goes into bin below the first of
` + strings.Join(install.Prefixes[1:], ", ") + ` that is usable, or below
--prefix. A later install uses the same directory.

If a package installed the same units, install leaves them alone. To remove the agent,
run ` + "`agent reset`, then `agent install --remove`" + `, which stops the daemon and removes
what install wrote.`,
		Example: `  ./agent install
  agent install --root /mnt/image --binary netwright-linux-arm64`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if p := i.Prefix; p != "" && (!path.IsAbs(p) || path.Clean(p) != p || p == "/") {
				return fmt.Errorf("--prefix %s: name a directory by its absolute path, such as /opt/netwright", p)
			}
			if remove {
				if err := refuseWithRemove(cmd, "prefix", "binary", "enable", "start"); err != nil {
					return err
				}
			}
			var err error
			if !remove { // --remove needs no program
				if i.Program, i.Arch, err = program(binary); err != nil {
					return err
				}
			}
			i.Host, i.Start = f.Host, i.Start && f.Host.Root == "/"
			if i.Shared, err = shared(cmd.Root()); err != nil {
				return err
			}
			do := i.Install
			switch {
			case dryRun && remove:
				do = i.DryRunRemove
			case remove:
				do = i.Remove
			case dryRun:
				do = i.DryRun
			}
			plan, err := do(cmd.Context())
			if plan == nil {
				return err
			}
			if err := f.Plan(plan, report.TextOptions{NoHeader: true, Brief: !dryRun, News: plan.Notes}); err != nil {
				return err
			}
			switch {
			case err != nil:
				return cli.ExitError // the plan shows what failed
			case dryRun && plan.Summary.Changes() > 0:
				return cli.ExitChanges
			case f.Text() && !remove:
				fmt.Fprintln(f.Out, nextStep(f))
			}
			return nil
		},
	}
	l := cmd.Flags()
	l.StringVar(&i.Prefix, "prefix", "", "the directory whose bin gets the program (default: where it is, else /usr)")
	l.StringVar(&binary, "binary", "", "the program to install (default: this one)")
	l.BoolVar(&dryRun, "dry-run", false, "show what would change and exit: 0 nothing, 2 changes, 1 error")
	l.BoolVar(&remove, "remove", false, "take the agent away again, after a reset")
	l.BoolVar(&i.Enable, "enable", true, "let the units start at boot")
	l.BoolVar(&i.Start, "start", true, "start the daemon now; never below --root")
	return cmd
}

// refuseWithRemove refuses flags that say how to install, beside --remove.
func refuseWithRemove(cmd *cobra.Command, flags ...string) error {
	for _, flag := range flags {
		if cmd.Flags().Changed(flag) {
			return problem.Usage.Errorf("--%s means nothing with --remove, which takes away what install put there, "+
				"wherever that is: leave it out", flag)
		}
	}
	return nil
}

// nextStep returns what the user should do after an installation. For an image it names nothing
// that changes this host.
func nextStep(f *cli.Flags) string {
	root, err := f.Host.Root, f.Read()
	then := "`agent plan` shows what would change, and `systemctl start netwright-agent` makes it so"
	if root != "/" {
		then = "`agent --once --root " + root + "` puts the network's files there, too"
	}
	switch {
	case err == nil && f.Store == "":
		conf := path.Join(root, defaultConf)
		return "next: say where the configuration is, such as `mkdir -p " + path.Dir(conf) + "; echo 'store: " +
			"/srv/netwright' >" + conf + "`; then " + then
	case root != "/":
		return "next: " + then
	}
	return "next: `agent status` says how this node is"
}

// program returns the content of the program at a path and its architecture. An empty path is the
// running program.
func program(path string) (blob.Content, string, error) {
	const hint = "name the agent's program with --binary"
	path = cmp.Or(path, "/proc/self/exe") // works also where the file was replaced since the start
	file, err := blob.Open(path)
	if err != nil {
		return blob.Content{}, "", fmt.Errorf("read the program: %w: %s", err, hint)
	}
	defer file.Close() // it is only read
	head := make([]byte, 64)
	if _, err := io.ReadFull(file, head); err != nil {
		return blob.Content{}, "", fmt.Errorf("read the program %s: %w: %s", path, err, hint)
	}
	arch := facts.ProgramArch(head)
	if arch == "" {
		return blob.Content{}, "", fmt.Errorf("%s is no program for Linux: %s", path, hint)
	}
	sum := sha256.New()
	sum.Write(head)
	rest, err := io.Copy(sum, file)
	if err != nil {
		return blob.Content{}, "", fmt.Errorf("read the program %s: %w", path, err)
	}
	return blob.Stored(int64(len(head))+rest, blob.Digest(sum.Sum(nil)),
		func() ([]byte, error) { return blob.ReadFile(path) }), arch, nil
}
