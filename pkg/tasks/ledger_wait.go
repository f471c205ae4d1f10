package tasks

// RecordWait returns the record of a wait for a CNI conf, and false for any other task. A revision
// has it, and the ledger has no entry of it, because it owns nothing on the host. The record leaves
// out what the runtime of today can do, because a rollback may meet a newer one.
func RecordWait(t Task) (Recorded, bool, error) {
	if t.row() != rowWaitConf {
		return Recorded{}, false, nil
	}
	own := value[WaitConf](t)
	own.Consumer = Consumer{}
	r, _, err := record(KindConf, &own)
	return r, err == nil, err
}

// RebuildWait makes a wait from its record.
func RebuildWait(r Recorded) (Task, error) { return rebuild[WaitConf](r, nil) }
