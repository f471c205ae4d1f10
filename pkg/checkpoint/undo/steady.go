package undo

import (
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/tasks"
)

// hookSteady is how long the probes must pass after a unit of a hook was started.
const hookSteady = 3 * time.Second

// Steady is how long the probes must pass without a break. Units act when we have long gone on:
// those of the network on their files, those of hooks on whatever their programs do. Nobody knows
// how long a hook takes; each node with a new one waits for this at its boot. What netlink and
// sysctls change is changed at once.
func (l *Log) Steady(window time.Duration) (steady time.Duration) {
	var units []string
	for _, effect := range l.Effects {
		_, unit, _ := strings.Cut(effect, " ")
		units = append(units, unit)
	}
	for _, unit := range l.Units {
		units = append(units, unit.Name)
	}
	for _, unit := range units {
		switch {
		case tasks.NetworkUnit(unit):
			return window / 3
		case tasks.ActsLate(unit):
			steady = min(window/3, hookSteady)
		}
	}
	return steady
}
