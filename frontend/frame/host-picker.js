/** Opens the host picker, whose script is loaded with that of the view Hosts. */

/** @typedef {import('../lib/types').Ready} Ready */

/**
 * @param {object} on
 * @param {() => Ready|null} on.session the open session
 * @param {(name: string) => boolean} on.isOpen whether a session is open and not being left
 * @param {() => string|undefined} on.linked the link's `h`
 * @param {(hosts: string) => void} on.apply takes the hosts in the link's form
 * @param {(text: string) => void} on.announce @param {(error: unknown) => void} on.reportError
 */
export function createHostPicker({ session, isOpen, linked, apply, announce, reportError }) {
  let close = () => {};
  return {
    /** Opens the picker under an element. @param {HTMLElement} anchor */
    async open(anchor) {
      const requested = session();
      if (!requested) return;
      const { session: { name, hosts }, rows } = requested;
      try {
        const openPicker = (await import('../hosts/view.js')).openPicker;
        if (!isOpen(name)) return;
        // The anchor may have been clicked twice while the script was loaded.
        close();
        close = openPicker({
          session: name,
          hosts: hosts.map((file) => file.name),
          linked: linked(),
          rows: rows.length / hosts.length,
          anchor, apply, announce, reportError,
        });
      } catch (error) {
        reportError(error);
      }
    },
    /** Closes the picker if it is open: its hosts are those of the session or of the link that is left. */
    close: () => close(),
  };
}
