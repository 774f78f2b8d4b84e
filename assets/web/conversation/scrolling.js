// The scroll position of a box.
export const END_MARGIN = 60; // pixels from the end that count as the end

export function spaceBelow(box) { // pixels that are out of view
  return box.scrollHeight - box.scrollTop - box.clientHeight;
}
export function isAtEnd(box) { return spaceBelow(box) < END_MARGIN; }
