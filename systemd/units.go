// Package systemd holds the unit files as they are shipped. It is data: `agent install` and the
// checkpoint write them, packages copy them.
package systemd

import (
	_ "embed"
	"path"
	"strings"
)

// Program is where the shipped units run the agent.
const Program = "/usr/bin/netwright"

// WithProgram is a shipped unit that runs the agent at another path. It waits for the mount that
// the program is on.
func WithProgram(unit, program string) string {
	unit = strings.ReplaceAll(unit, Program, program)
	if dir := path.Dir(program); dir != path.Dir(Program) {
		unit = strings.Replace(unit, "\nRequiresMountsFor=", "\nRequiresMountsFor="+dir+" ", 1)
	}
	return unit
}

// ProgramOf is the program that a unit runs by its last ExecStart=, "" if it has none.
func ProgramOf(unit string) (program string) {
	for line := range strings.Lines(unit) {
		if command, ok := strings.CutPrefix(line, "ExecStart="); ok {
			program, _, _ = strings.Cut(strings.TrimSpace(strings.TrimLeft(command, "-@:+!|")), " ")
		}
	}
	return program
}

// Agent is netwright-agent.service, which runs the daemon.
//
//go:embed netwright-agent.service
var Agent string

// Recover is netwright-recover.service, which completes at boot what a killed run left in the
// middle.
//
//go:embed netwright-recover.service
var Recover string

// Undo is netwright-undo.service, which takes back at boot a network change that was not confirmed.
//
//go:embed netwright-undo.service
var Undo string

// Preset says that the units are to be enabled, for a first boot at which systemd disables what no
// preset names (systemd.preset(5)).
//
//go:embed netwright.preset
var Preset string

// PresetName is the file's name in a directory of presets.
const PresetName = "80-netwright.preset"
