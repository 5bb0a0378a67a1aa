// Package offer computes versions of sets of specialists, so that a gateway sends a router each set once. It imports no
// service.
package offer

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"google.golang.org/protobuf/proto"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

// Version returns the version of specialists, as quartet.router.v1.RouteRequest.specialists_version defines it: equal for
// equal specialists in equal order. Programs with different versions of the protobuf library may compute different versions
// of the same set, which costs one more request. It takes about as long as encoding the specialists. It returns an error if
// a specialist cannot be encoded.
func Version(specialists []*specialistv1.Specialist) (string, error) {
	sum := sha256.New()
	var buf []byte
	for _, s := range specialists {
		var err error
		buf, err = proto.MarshalOptions{Deterministic: true}.MarshalAppend(append(buf[:0], 0, 0, 0, 0), s)
		if err != nil {
			return "", fmt.Errorf("version of specialist %q: %w", s.GetName(), err)
		}
		binary.BigEndian.PutUint32(buf, uint32(len(buf)-4))
		sum.Write(buf)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
