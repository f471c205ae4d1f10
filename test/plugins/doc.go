// Package plugins holds what the rows of package network say of CNI plugins against the plugins
// themselves, built from their modules at pinned versions: which version of the CNI they answer,
// and that they read the conf that we write or wait for. Their daemons are not run here, so that no
// ADD succeeds: package daemons runs them. To add a plugin is a module below modules, with a tool
// line, and a line in the table of the test; go.mod takes the replace lines of the plugin's own.
package plugins
