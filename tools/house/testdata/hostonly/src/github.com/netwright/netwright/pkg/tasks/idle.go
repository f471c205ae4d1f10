package tasks

func idle() {
	println() //nolint:house hostonly nothing here writes // want `there is nothing for this comment to silence`
}
