"""Every store behaves the same: epochs, fences, batches that are all or nothing."""
