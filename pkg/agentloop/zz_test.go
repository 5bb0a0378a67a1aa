package agentloop
import ("testing";"context";"time")
type price struct { Min float64 `json:"min,omitempty"`; Max *int32 `json:"max,omitempty"` }
type args struct { Query string `json:"query" jsonschema:"what to look for"`; Options map[string]string `json:"options,omitempty"`; IDs []string `json:"ids,omitempty"`; Price *price `json:"price,omitempty"`; Many []price `json:"many"`; When time.Time `json:"when,omitzero"`; N uint8 `json:"n,omitempty"`; M map[string][]price `json:"m,omitempty"`; A any `json:"a,omitempty"`; Arr [2]int `json:"arr,omitempty"`}
func TestZ(t *testing.T){
 x:=NewTool("a","b",func(ctx context.Context,in args)(string,error){return "",nil})
 t.Log(string(x.Parameters))
 y:=NewTool("a","b",func(ctx context.Context,in struct{})(string,error){return "",nil})
 t.Log(string(y.Parameters))
 z:=NewTool("a","b",func(ctx context.Context,in map[string]any)(string,error){return "",nil})
 t.Log(string(z.Parameters))
}
