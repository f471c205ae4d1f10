// Package systemd holds the unit files as they are shipped. It is data: `agent install` and the
// checkpoint write them, packages copy them.
package systemd

import _ "embed"

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
