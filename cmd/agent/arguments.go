package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/problem"
)

// noArgs is the error for a command that takes no arguments: it says what to do instead.
func noArgs(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case !cmd.HasAvailableSubCommands():
		return problem.Usage.Errorf("%s takes no arguments, and got %q: `%s --help` says how it is used", cmd.Name(),
			args[0], cmd.CommandPath())
	}
	return noSuchCommand(cmd, args)
}

// elsewhere maps commands of other tools to the agent's commands that do the same.
var elsewhere = map[string]string{
	"preview": "agent plan", "dry-run": "agent plan", "show": "agent plan",
	"run": "agent --once", "once": "agent --once", "update": "agent --once", "sync": "agent --once",
	"converge": "agent --once", "reconcile": "agent --once", "upgrade": "agent install", "init": "agent install",
	"check": "agent store check DIR", "validate": "agent store check DIR", "lint": "agent store check DIR",
	"publish": "agent store publish DIR STORE",
	"trace":   "agent verify --traffic", "logs": "journalctl -u netwright-agent",
	"start": "systemctl start netwright-agent", "stop": "systemctl stop netwright-agent",
	"restart": "systemctl restart netwright-agent", "uninstall": "agent reset", "destroy": "agent reset",
	"describe": "agent explain KEY", "get": "agent status", "watch": "agent status --watch", "info": "agent facts",
	"doctor": "agent verify", "health": "agent verify", "test": "agent verify", "bundle": "agent support",
	"revert": "agent rollback", "unpause": "agent resume", "log": "journalctl -u netwright-agent",
}

// noSuchCommand returns the error for a command that cmd does not have. It suggests similar ones.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if same := elsewhere[args[0]]; same != "" && !cmd.HasParent() {
		return problem.Usage.Errorf("there is no command %q: it is `%s` here", cmd.CommandPath()+" "+args[0], same)
	}
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return problem.Usage.Errorf("there is no command %q: did you mean %s?", cmd.CommandPath()+" "+args[0],
			strings.Join(near, " or "))
	}
	return problem.Usage.Errorf("there is no command %q: `%s --help` lists those there are",
		cmd.CommandPath()+" "+args[0], cmd.CommandPath())
}

// oneArg returns a check for exactly one argument; its error describes the argument and shows an
// example.
func oneArg(what, example string) cobra.PositionalArgs {
	return exactArgs(1, "one argument, "+what, example)
}

// twoArgs returns a check for exactly two arguments; its error describes them and shows an example.
func twoArgs(what, example string) cobra.PositionalArgs {
	return exactArgs(2, "two arguments, "+what, example)
}

func exactArgs(n int, takes, example string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return problem.Usage.Errorf("%s takes %s, and got %d: `%s`", cmd.Name(), takes, len(args), example)
		}
		return nil
	}
}

func atMostOneArg(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return problem.Usage.Errorf("%s takes one argument or none, and got %d", cmd.Name(), len(args))
	}
	return nil
}

// refuseUnknown makes cobra's own commands, help and completion, refuse unknown arguments as the
// agent's commands do. By default they print help and return no error.
func refuseUnknown(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Args = topic
		case "completion":
			cmd.Args, cmd.RunE = noArgs, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}

// topic checks that the arguments of help name a command.
func topic(cmd *cobra.Command, args []string) error {
	found, rest, err := cmd.Root().Find(args)
	if err != nil || len(rest) == 0 {
		return err
	}
	if !found.HasAvailableSubCommands() {
		return problem.Usage.Errorf("there is no command %q: `%s --help` tells of %s", found.CommandPath()+" "+rest[0],
			found.CommandPath(), found.Name())
	}
	return noSuchCommand(found, rest)
}
