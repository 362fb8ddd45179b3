/**
 * A child that is a partitioned supervisor: a static one, whose children are alike and are reached by key.
 */
import type * as Context from "effect/Context"

import type { Mount, Parent } from "./mount.ts"
import type { Runtime } from "./runtime.ts"
import type { Mountable, SupervisorPolicy } from "./supervisorMount.ts"
import { SupervisorMount } from "./supervisorMount.ts"

/** A partitioned supervisor's spec, as its mount needs it. */
export interface PartitionedSpec {
  readonly key: string
  readonly partitions: ReadonlyArray<Mountable>
  /** what users of the service get */
  readonly handle: (supervisor: PartitionedMount, partitions: ReadonlyArray<Mount>) => unknown
}

export class PartitionedMount extends SupervisorMount {
  override get alike(): boolean {
    return true
  }

  private readonly shared: ReadonlyMap<string, unknown>

  constructor(
    runtime: Runtime,
    parent: Parent,
    policy: SupervisorPolicy,
    spec: PartitionedSpec,
    outer: Context.Context<never> | undefined
  ) {
    super(runtime, parent, policy, spec.partitions, outer)
    this.shared = new Map([[spec.key, spec.handle(this, this.declared)]])
  }

  /** The partitions have references of one key, which say nothing without a partition: only the handle is given away. */
  override get refs(): ReadonlyMap<string, unknown> {
    return this.shared
  }
}
