package mended // want `the names of package pkg/mended are the field's now: remove its line from privateStill`

var published = 0
