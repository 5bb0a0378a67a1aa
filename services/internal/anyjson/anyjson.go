// Package anyjson lets messages be written as JSON although they contain messages of types that the program does not have: those of a
// further specialist's extensions. protojson refuses such messages as a whole.
package anyjson

import (
	"encoding/base64"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
)

// Readable returns m if protojson can write it, as far as its google.protobuf.Any go. Else it returns a copy, in which each Any that
// protojson cannot write is a google.protobuf.Struct with its type_url, and its value in base64.
func Readable[M proto.Message](m M) M {
	var bad bool
	each(m.ProtoReflect(), func(a *anypb.Any) { bad = bad || !readable(a) })
	if !bad {
		return m
	}
	m = proto.CloneOf(m)
	each(m.ProtoReflect(), func(a *anypb.Any) {
		if !readable(a) {
			replace(a)
		}
	})
	return m
}

// readable reports whether protojson can write an Any: it has its type, and the value is of it.
func readable(a *anypb.Any) bool {
	_, err := protojson.Marshal(a)
	return err == nil
}

func replace(a *anypb.Any) {
	fields := &structpb.Struct{Fields: map[string]*structpb.Value{
		"type_url": structpb.NewStringValue(a.GetTypeUrl()),
		"value":    structpb.NewStringValue(base64.StdEncoding.EncodeToString(a.GetValue())),
	}}
	if err := a.MarshalFrom(fields); err != nil { // type_url is not UTF-8
		a.Reset()
	}
}

// each calls visit for every Any in a message, except those inside of another one.
func each(m protoreflect.Message, visit func(*anypb.Any)) {
	if a, ok := m.Interface().(*anypb.Any); ok {
		visit(a)
		return
	}
	m.Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case field.IsMap() && field.MapValue().Message() != nil:
			v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
				each(v.Message(), visit)
				return true
			})
		case field.IsMap() || field.Message() == nil:
		case field.IsList():
			for i := range v.List().Len() {
				each(v.List().Get(i).Message(), visit)
			}
		default:
			each(v.Message(), visit)
		}
		return true
	})
}
