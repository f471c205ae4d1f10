module github.com/netwright/netwright/faults

go 1.26.0
