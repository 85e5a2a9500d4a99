/** A wire of a program's own that a host lives on. */
export interface HostWire {
  /** Resolves when it has ended, and all that it carried is given back. */
  readonly closed: Promise<void>;
  /** Ends it. Twice is once. */
  close(): void;
}
