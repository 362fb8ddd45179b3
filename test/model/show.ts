import { generate } from "./plan.ts"
import { Troupe } from "./troupe.ts"
import { lineOf } from "./story.ts"
const seed = Number(process.argv[2]) as any
const plan = generate(seed)
const show = (s: any, d = ""): void => { const {children, ...r} = s; console.log(d + JSON.stringify(r)); children?.forEach((c: any) => show(c, d + "  ")) }
show(plan.root)
const t = new Troupe(plan)
let n = 0
const flush = () => { while (n < t.events.length) { const e = t.events[n++]!; console.log("      ", e.path.slice(0,-1).join("/"), lineOf(e)) } }
t.machine.settle(); flush()
for (const g of plan.steps) { console.log(JSON.stringify(g)); for (const s of g) t.do(s); t.machine.settle(); flush() }
const st = t.tree!.stop; const f = plan.ending==="stop"? t.machine.fork(st):t.close(); void f; for (let i=0;i<100 && t.machine.next!==undefined;i++){t.machine.advanceTo(t.machine.next)}; flush(); console.log("letgo"); t.letGo(); t.machine.advanceTo(t.machine.now+10000); flush(); console.log(t.lives.filter(l=>l.released.length<l.acquired), t.machine.fibers)
console.log("end", plan.ending)
