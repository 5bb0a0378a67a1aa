package rpc

import (
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/mem"
)

// gRPC's own pool of buffers has nothing between 32 KiB and 1 MiB, and clears a buffer before each use: for a message of
// 40 KiB, as what a router is told of the specialists, a megabyte is cleared at either end. gRPC takes another pool only
// before its first use, and for the process as a whole.
func init() {
	if pool, err := mem.NewBinaryTieredBufferPool(8, 12, 14, 15, 16, 17, 18, 20); err == nil { // powers of two, in bytes
		experimental.SetDefaultBufferPool(pool)
	}
}
