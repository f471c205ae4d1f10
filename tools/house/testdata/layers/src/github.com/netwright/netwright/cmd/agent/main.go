package main

import (
	_ "os"

	_ "github.com/netwright/netwright/pkg/daemon"
	_ "github.com/netwright/netwright/pkg/host"
	_ "github.com/netwright/netwright/pkg/model"
)

func main() {}
