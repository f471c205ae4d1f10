// Package plugins compares the rows of package network about CNI plugins with the plugins
// themselves, built from their modules at pinned versions: which CNI versions they answer, and
// whether they read the conf that the agent writes or waits for. No daemon of the plugins runs
// here, so no ADD succeeds: package daemons runs the daemons. To add a plugin, add a module below
// modules with a tool line, and a line in the table of the test. Copy the replace lines of the
// plugin's go.mod.
package plugins
