/** Copied numbers have plain digits, spaces and minus signs. */

/** `1\u202f163.250\u202fms` → `1163.250 ms`, `−58.2` → `-58.2`. @param {string} text */
export function plainDigits(text) {
  return text.replace(/(\d)\u202f(?=\d{3}(?!\d))/g, '$1').replace(/\u2212(?=\d)/g, '-').replace(/[\u202f\u00a0]/g, ' ');
}

/** Rewrites each selection that the user copies, if it needs it. */
export function bindPlainCopy() {
  document.addEventListener('copy', (event) => {
    const text = String(document.getSelection() ?? '');
    const plain = plainDigits(text);
    if (plain === text || !event.clipboardData || event.target instanceof HTMLInputElement) return;
    event.clipboardData.setData('text/plain', plain);
    event.preventDefault();
  });
}
