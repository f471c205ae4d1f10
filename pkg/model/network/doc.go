// Package network has the networks that Netwright knows: one [Network] value for each, in its own
// file. [All] lists them.
//
// A network is mostly data: who writes its CNI conf, which plugins, modules and sysctls it needs,
// what other services of the machine must leave alone, and what it leaves behind. Its Build
// function does what data cannot express. Build is pure: the same input gives the same tasks, and
// it knows only those facts of the host that its input has.
//
// The package does not order the tasks of a node and adds no tasks that all networks share. Package
// model does both.
package network
